# llhttp, the HTTP parser of Node.js: Debian ships its C sources in node-llhttp.
enable_language(C)
find_path(ONCEGUARD_LLHTTP_INCLUDE llhttp.h PATH_SUFFIXES llhttp REQUIRED
          PATHS /usr/share/include)
find_path(ONCEGUARD_LLHTTP_SOURCE llhttp.c PATHS /usr/share/llhttp REQUIRED)
add_library(onceguard_llhttp STATIC
  ${ONCEGUARD_LLHTTP_SOURCE}/api.c
  ${ONCEGUARD_LLHTTP_SOURCE}/http.c
  ${ONCEGUARD_LLHTTP_SOURCE}/llhttp.c)
add_library(onceguard::llhttp ALIAS onceguard_llhttp)
target_include_directories(onceguard_llhttp SYSTEM PUBLIC ${ONCEGUARD_LLHTTP_INCLUDE})
target_compile_definitions(onceguard_llhttp PUBLIC LLHTTP_STRICT_MODE=1)
target_compile_options(onceguard_llhttp PRIVATE -w -O2)
set_target_properties(onceguard_llhttp PROPERTIES UNITY_BUILD OFF C_STANDARD 11)
if(ONCEGUARD_SANITIZE)
  target_compile_options(onceguard_llhttp PRIVATE -fsanitize=${ONCEGUARD_SANITIZE})
endif()
