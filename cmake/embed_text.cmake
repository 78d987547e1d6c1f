# A text file as a C++ function that returns it, so that the program carries it.
#   onceguard_embed_text(onceguard_admin src/admin/openapi.json
#                        admin/control_api.hpp onceguard::admin::openapi_document)
# adds the generated source to that target; the header declares the function. Run with -P it writes
# the source.

if(CMAKE_SCRIPT_MODE_FILE)
  # Characters, as a string literal may have 65536 of them at most.
  file(READ ${DOCUMENT} text HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," text "${text}")
  file(WRITE ${OUTPUT}.new "\
// Generated from ${DOCUMENT}.
#include \"${HEADER}\"

std::string_view ${FUNCTION}() noexcept {
  static constexpr char text[]{${text}};
  return {text, sizeof text};
}
")
  file(RENAME ${OUTPUT}.new ${OUTPUT})
  return()
endif()

set(ONCEGUARD_EMBED_TEXT ${CMAKE_CURRENT_LIST_FILE})

function(onceguard_embed_text target document header function)
  string(REPLACE "::" "_" name ${function})
  cmake_path(ABSOLUTE_PATH document BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(output ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DDOCUMENT=${document} -DOUTPUT=${output} -DHEADER=${header}
      -DFUNCTION=${function} -P ${ONCEGUARD_EMBED_TEXT}
    DEPENDS ${document} ${ONCEGUARD_EMBED_TEXT}
    COMMENT "Embedding ${document}" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
