# The Lua scripts of the Redis store as a C++ source, so that the program carries them.
#   onceguard_embed_lua(onceguard_room_redis ${PROJECT_SOURCE_DIR}/src/store/redis/lua)
# adds the generated source to that target. Run with -P it writes the source.

if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB files ${LUA_FOLDER}/*.lua)
  list(SORT files)
  list(LENGTH files count)
  set(rows "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND rows "    {\"${name}\", R\"onceguard(${text})onceguard\"},\n")
  endforeach()
  file(WRITE ${OUTPUT}.new "\
// Generated from src/store/redis/lua.
#include <array>

#include \"store/redis/commands/scripts.hpp\"

namespace onceguard::redis {
namespace {

constexpr std::array<script_source, ${count}> all{{
${rows}}};

}  // namespace

std::span<const script_source> script_sources() noexcept { return all; }

}  // namespace onceguard::redis
")
  file(RENAME ${OUTPUT}.new ${OUTPUT})
  return()
endif()

set(ONCEGUARD_EMBED_LUA ${CMAKE_CURRENT_LIST_FILE})

function(onceguard_embed_lua target folder)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.lua)
  set(output ${PROJECT_BINARY_DIR}/generated/redis_scripts.cpp)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
  add_custom_command(OUTPUT ${output}
    # The names are part of the command: a file that was renamed has an old time.
    COMMAND ${CMAKE_COMMAND} -DLUA_FOLDER=${folder} -DOUTPUT=${output} "-DNAMES=${files}"
      -P ${ONCEGUARD_EMBED_LUA}
    DEPENDS ${files} ${ONCEGUARD_EMBED_LUA}
    COMMENT "Embedding the Lua scripts" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
