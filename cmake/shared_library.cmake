# The shared library libonceguard.so: all components in one, for distributions, which build every
# program with the same Boost and the same standard library (docs/stability.md). It is the component
# `shared`. Its soname counts like the inline namespace of the public headers.
function(onceguard_shared_library)
  foreach(component IN LISTS ONCEGUARD_COMPONENTS)
    foreach(room IN LISTS component_${component}_rooms)
      list(APPEND objects $<TARGET_OBJECTS:onceguard_room_${room}>)
      list(APPEND links ${${room}_links})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES links)
  set(script ${PROJECT_SOURCE_DIR}/cmake/shared_library.map)
  add_library(onceguard_shared SHARED ${objects})
  add_library(onceguard::shared ALIAS onceguard_shared)
  set_target_properties(onceguard_shared PROPERTIES
    EXPORT_NAME shared OUTPUT_NAME onceguard LINKER_LANGUAGE CXX
    VERSION ${onceguard_abi}.${PROJECT_VERSION} SOVERSION ${onceguard_abi}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib LINK_DEPENDS ${script})
  target_compile_features(onceguard_shared INTERFACE cxx_std_20)
  target_include_directories(onceguard_shared INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(onceguard_shared PUBLIC Boost::headers Threads::Threads PRIVATE ${links})
  target_link_options(onceguard_shared PRIVATE
    LINKER:--version-script,${script} LINKER:-z,defs LINKER:--as-needed)
  set(component_shared_links Boost::headers Threads::Threads PARENT_SCOPE)
  set(ONCEGUARD_COMPONENTS ${ONCEGUARD_COMPONENTS} shared PARENT_SCOPE)
endfunction()
