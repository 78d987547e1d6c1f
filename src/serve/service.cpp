// The decision service.
#include "serve/params/serve_params.hpp"
