# The library for other projects. A component is one archive, made of the rooms that cmake/rooms.ini
# gives to it, and is onceguard::NAME for whoever uses it: installed, or as a part of the own build.
# An adapter is a component without an archive, include/onceguard/NAME.hpp, for a server of somebody
# else's, which only whoever uses it needs.
set(onceguard_adapters httplib pistache restinio)
set(component_httplib_links httplib::httplib)
set(component_pistache_links onceguard::libpistache)
set(component_restinio_links restinio::restinio)
set(component_restinio_defines RESTINIO_USE_BOOST_ASIO) # the Asio that Onceguard has

# Sets component_NAME_rooms, component_NAME_uses and component_NAME_links of each component;
# `onceguard_known` are all, lowest first.
macro(onceguard_read_components)
  foreach(room IN LISTS onceguard_room_list)
    set(component ${${room}_component})
    if(component)
      list(APPEND onceguard_known ${component})
      list(APPEND component_${component}_rooms ${room})
      list(APPEND component_${component}_links ${${room}_links})
      foreach(other IN LISTS ${room}_uses)
        if(NOT ${other}_component)
          message(FATAL_ERROR "cmake/rooms.ini: ${room} is in the component ${component}, and uses "
            "${other}, which is in none")
        endif()
        list(APPEND component_${component}_uses ${${other}_component})
      endforeach()
    endif()
  endforeach()
  foreach(adapter IN LISTS onceguard_adapters)
    list(APPEND onceguard_known ${adapter})
    set(component_${adapter}_uses http)
  endforeach()
  # Asio's headers are part of the public ones.
  list(PREPEND component_core_links Boost::headers Threads::Threads)
  list(REMOVE_DUPLICATES onceguard_known)
  foreach(component IN LISTS onceguard_known)
    list(REMOVE_DUPLICATES component_${component}_links)
    list(REMOVE_DUPLICATES component_${component}_uses)
    list(REMOVE_ITEM component_${component}_uses ${component})
  endforeach()
endmacro()

# ONCEGUARD_COMPONENTS becomes the list of what is built: what was asked for, and what that uses.
macro(onceguard_select_components)
  if(ONCEGUARD_COMPONENTS STREQUAL "all")
    set(ONCEGUARD_COMPONENTS ${onceguard_known})
  endif()
  foreach(component IN LISTS ONCEGUARD_COMPONENTS)
    if(NOT component IN_LIST onceguard_known)
      list(JOIN onceguard_known " " text)
      message(FATAL_ERROR "ONCEGUARD_COMPONENTS: there is no ${component}; there are: ${text}")
    endif()
  endforeach()
  set(asked ${ONCEGUARD_COMPONENTS})
  set(ONCEGUARD_COMPONENTS "")
  list(REVERSE onceguard_known)
  foreach(component IN LISTS onceguard_known)
    if(component IN_LIST asked)
      list(PREPEND ONCEGUARD_COMPONENTS ${component})
      list(APPEND asked ${component_${component}_uses})
    endif()
  endforeach()
  list(REVERSE onceguard_known)
endmacro()

function(onceguard_components)
  foreach(component IN LISTS ONCEGUARD_COMPONENTS)
    if(component IN_LIST onceguard_adapters)
      onceguard_adapter(${component})
    else()
      onceguard_component(${component})
      list(APPEND targets onceguard_${component})
    endif()
  endforeach()
  add_custom_target(onceguard_library DEPENDS ${targets})
endfunction()

function(onceguard_adapter name)
  onceguard_find(${component_${name}_links} QUIET)
  add_library(onceguard_${name} INTERFACE)
  add_library(onceguard::${name} ALIAS onceguard_${name})
  set_target_properties(onceguard_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(onceguard_${name} INTERFACE onceguard_http ${component_${name}_links})
  target_compile_definitions(onceguard_${name} INTERFACE ${component_${name}_defines})
endfunction()

function(onceguard_component name)
  set(target onceguard_${name})
  add_library(${target} STATIC)
  foreach(room IN LISTS component_${name}_rooms)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:onceguard_room_${room}>)
    onceguard_registration(${room} ${${room}_folder} option)
    target_link_options(${target} INTERFACE ${option})
  endforeach()
  # An archive may become part of somebody's shared library, and is no part of its interface.
  target_link_options(${target} INTERFACE LINKER:--exclude-libs,libonceguard_${name}.a)
  add_library(onceguard::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name} LINKER_LANGUAGE CXX ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  foreach(other IN LISTS component_${name}_uses)
    target_link_libraries(${target} PUBLIC onceguard_${other})
  endforeach()
  foreach(link IN LISTS component_${name}_links)
    if(link MATCHES "^(Boost::headers|Threads::Threads)$")
      target_link_libraries(${target} PUBLIC ${link})
    else()
      target_link_libraries(${target} PRIVATE ${link})
    endif()
  endforeach()
endfunction()

# --- what is installed ----------------------------------------------------------------------------

function(onceguard_install)
  include(GNUInstallDirs)
  include(CMakePackageConfigHelpers)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/onceguard)
  set(table "")
  foreach(component IN LISTS ONCEGUARD_COMPONENTS)
    install(TARGETS onceguard_${component} EXPORT onceguard_${component}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT onceguard_library
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT onceguard_library
      INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT onceguard_${component} NAMESPACE onceguard:: FILE ${component}-targets.cmake
      DESTINATION ${folder} COMPONENT onceguard_library)
    onceguard_pkg_config(${component})
    string(APPEND table
      "set(onceguard_${component}_uses \"${component_${component}_uses}\")\n"
      "set(onceguard_${component}_links \"${component_${component}_links}\")\n")
  endforeach()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/onceguard-config.cmake.in
    ${PROJECT_BINARY_DIR}/generated/onceguard-config.cmake INSTALL_DESTINATION ${folder})
  # Before 1.0, each minor version may change the API: docs/stability.md.
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/generated/onceguard-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/generated/onceguard-config.cmake
    ${PROJECT_BINARY_DIR}/generated/onceguard-config-version.cmake
    ${PROJECT_SOURCE_DIR}/cmake/dependencies.cmake
    DESTINATION ${folder} COMPONENT onceguard_library)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/onceguard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT onceguard_library FILES_MATCHING PATTERN "*.hpp")
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
    COMPONENT onceguard_library)
  if(TARGET onceguard)
    install(TARGETS onceguard RUNTIME COMPONENT onceguard_program)
  endif()
endfunction()

# onceguard-NAME.pc; only the archive is there, so whoever links it links what it needs.
function(onceguard_pkg_config name)
  set(requires ${component_${name}_uses})
  list(TRANSFORM requires PREPEND onceguard-)
  set(flags ${component_${name}_defines})
  list(TRANSFORM flags PREPEND " -D")
  set(libraries "")
  if(name STREQUAL "shared")
    set(libraries "-L\${libdir} -lonceguard")
  elseif(NOT name IN_LIST onceguard_adapters)
    set(libraries "-L\${libdir} -lonceguard_${name}")
    string(APPEND libraries " -Wl,--exclude-libs,libonceguard_${name}.a")
  endif()
  foreach(room IN LISTS component_${name}_rooms)
    onceguard_registration(${room} ${${room}_folder} option)
    string(REPLACE "LINKER:" " -Wl," option "${option}")
    string(APPEND libraries "${option}")
  endforeach()
  foreach(link IN LISTS component_${name}_links)
    if(link STREQUAL "Threads::Threads")
      string(APPEND libraries " -pthread")
    elseif(link STREQUAL "OpenSSL::Crypto")
      list(APPEND requires libcrypto)
    elseif(link STREQUAL "OpenSSL::SSL")
      list(APPEND requires libssl)
    elseif(link STREQUAL "ZLIB::ZLIB")
      list(APPEND requires zlib)
    elseif(link STREQUAL "SQLite::SQLite3")
      list(APPEND requires sqlite3)
    elseif(link STREQUAL "PostgreSQL::PostgreSQL")
      list(APPEND requires libpq)
    elseif(link STREQUAL "onceguard::hiredis")
      list(APPEND requires hiredis)
    elseif(link STREQUAL "onceguard::librabbitmq")
      list(APPEND requires librabbitmq)
    elseif(link STREQUAL "onceguard::libnats")
      list(APPEND requires libnats)
    elseif(link STREQUAL "onceguard::librdkafka")
      list(APPEND requires rdkafka)
    elseif(link STREQUAL "CURL::libcurl")
      list(APPEND requires libcurl)
    elseif(link STREQUAL "httplib::httplib")
      list(APPEND requires cpp-httplib)
    elseif(link STREQUAL "onceguard::libpistache")
      list(APPEND requires libpistache)
    elseif(link STREQUAL "restinio::restinio") # has no file of pkg-config's
      list(APPEND requires fmt)
      string(APPEND libraries " -lhttp_parser")
    elseif(link STREQUAL "nlohmann_json::nlohmann_json")
      list(APPEND requires nlohmann_json)
    elseif(NOT link STREQUAL "Boost::headers") # has no file of pkg-config's
      message(FATAL_ERROR "${link} has no name of pkg-config's in cmake/components.cmake")
    endif()
  endforeach()
  list(JOIN requires ", " requires)
  file(RELATIVE_PATH prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # wherever it is installed
  configure_file(${PROJECT_SOURCE_DIR}/cmake/onceguard.pc.in
    ${PROJECT_BINARY_DIR}/generated/onceguard-${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/generated/onceguard-${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT onceguard_library)
endfunction()
