# The web page: the sources in web/ become one script and one style sheet, by Debian's esbuild and
# node-preact, and the program carries them.

find_program(ONCEGUARD_ESBUILD esbuild)
set(ONCEGUARD_NODE_MODULES /usr/share/nodejs CACHE PATH "Where preact lies")

function(onceguard_web_page target)
  if(NOT ONCEGUARD_ESBUILD OR NOT EXISTS ${ONCEGUARD_NODE_MODULES}/preact)
    message(FATAL_ERROR "esbuild and node-preact are needed for the web page (./dev deps)")
  endif()
  set(folder ${PROJECT_BINARY_DIR}/generated/web)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*)
  add_custom_command(OUTPUT ${folder}/page.js ${folder}/page.css
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${ONCEGUARD_NODE_MODULES}
      ${ONCEGUARD_ESBUILD} ${PROJECT_SOURCE_DIR}/web/main.jsx --bundle --minify --format=esm
      --target=es2020 --jsx-factory=h --log-level=warning --outfile=${folder}/page.js
    DEPENDS ${sources}
    COMMENT "Bundling the web page" VERBATIM)
  onceguard_embed_text(${target} ${PROJECT_SOURCE_DIR}/web/index.html
    admin/web_page.hpp onceguard::admin::page_document)
  onceguard_embed_text(${target} ${folder}/page.js
    admin/web_page.hpp onceguard::admin::page_script)
  onceguard_embed_text(${target} ${folder}/page.css
    admin/web_page.hpp onceguard::admin::page_style)
endfunction()
