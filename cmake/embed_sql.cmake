# The SQL of the schema as a C++ source, so that the program carries it.
#   onceguard_embed_sql(onceguard_room_postgres ${PROJECT_SOURCE_DIR}/src/store/postgres/sql)
# adds the generated source to that target. Run with -P it writes the source.

if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB files ${SQL_FOLDER}/0*.sql)
  list(SORT files)
  set(rows "")
  set(last 0)
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX MATCH "^([0-9]+)_" unused ${name})
    math(EXPR number "10000${CMAKE_MATCH_1} % 1000")
    math(EXPR next "${last} + 1")
    if(NOT number EQUAL next)
      message(FATAL_ERROR "${file}: the migration after ${last} is ${next}")
    endif()
    set(last ${number})
    file(READ ${file} text)
    string(APPEND rows "    {${number}, \"${name}\", R\"onceguard(${text})onceguard\"},\n")
  endforeach()
  # What is applied as a whole, in this order.
  file(GLOB parts ${SQL_FOLDER}/functions/*.sql)
  list(SORT parts)
  list(APPEND parts ${SQL_FOLDER}/triggers.sql ${SQL_FOLDER}/view.sql ${SQL_FOLDER}/rights.sql)
  set(texts "")
  foreach(file IN LISTS parts)
    file(READ ${file} text)
    string(APPEND texts "    R\"onceguard(${text})onceguard\",\n")
  endforeach()
  list(LENGTH parts count)
  file(WRITE ${OUTPUT}.new "\
// Generated from src/store/postgres/sql.
#include <array>

#include \"store/postgres/schema.hpp\"

namespace onceguard::postgres {
namespace {

constexpr std::array<migration, ${last}> all{{
${rows}}};
static_assert(schema_version == ${last}, \"schema.hpp: the last migration's number\");

constexpr std::array<std::string_view, ${count}> texts{{
${texts}}};

}  // namespace

std::span<const migration> migrations() noexcept { return all; }

std::span<const std::string_view> functions() noexcept { return texts; }

}  // namespace onceguard::postgres
")
  file(RENAME ${OUTPUT}.new ${OUTPUT})
  return()
endif()

set(ONCEGUARD_EMBED_SQL ${CMAKE_CURRENT_LIST_FILE})

function(onceguard_embed_sql target folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.sql)
  set(output ${PROJECT_BINARY_DIR}/generated/migrations.cpp)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
  add_custom_command(OUTPUT ${output}
    # The names are part of the command: a file that was renamed has an old time.
    COMMAND ${CMAKE_COMMAND} -DSQL_FOLDER=${folder} -DOUTPUT=${output} "-DNAMES=${files}"
      -P ${ONCEGUARD_EMBED_SQL}
    DEPENDS ${files} ${ONCEGUARD_EMBED_SQL}
    COMMENT "Embedding the SQL of the schema" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
