# The document of the admin API as a C++ source, so that the program carries it.
#   onceguard_embed_openapi(onceguard_room_admin ${PROJECT_SOURCE_DIR}/src/admin/openapi.json)
# adds the generated source to that target. Run with -P it writes the source.

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${DOCUMENT} text)
  file(WRITE ${OUTPUT}.new "\
// Generated from src/admin/openapi.json.
#include \"admin/control_api.hpp\"

namespace onceguard::admin {

std::string_view openapi_document() noexcept { return R\"onceguard(${text})onceguard\"; }

}  // namespace onceguard::admin
")
  file(RENAME ${OUTPUT}.new ${OUTPUT})
  return()
endif()

set(ONCEGUARD_EMBED_OPENAPI ${CMAKE_CURRENT_LIST_FILE})

function(onceguard_embed_openapi target document)
  set(output ${PROJECT_BINARY_DIR}/generated/openapi.cpp)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DDOCUMENT=${document} -DOUTPUT=${output}
      -P ${ONCEGUARD_EMBED_OPENAPI}
    DEPENDS ${document} ${ONCEGUARD_EMBED_OPENAPI}
    COMMENT "Embedding the document of the admin API" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
