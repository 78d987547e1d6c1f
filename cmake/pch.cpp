// Carries the precompiled header that every room reuses.
