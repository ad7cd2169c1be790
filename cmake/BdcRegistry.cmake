# registry.json names libraries in build/plugins. Copies of it go beside the build's plugins (so that build/ can be used
# from any folder) and, without the examples, beside the installed ones.
set(registry "${PROJECT_SOURCE_DIR}/registry.json")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${registry}")
file(READ "${registry}" text)
string(REPLACE "\"build/plugins/" "\"plugins/" in_build "${text}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/registry.json" CONTENT "${in_build}" @ONLY)

set(installed "${text}")
foreach(list plugins hooks)
  string(JSON count LENGTH "${text}" ${list})
  while(count GREATER 0)
    math(EXPR count "${count} - 1")
    string(JSON name GET "${text}" ${list} ${count} name)
    if(EXISTS "${PROJECT_SOURCE_DIR}/plugins/${name}/plugin.cpp")
      string(JSON installed SET "${installed}" ${list} ${count} library "\"../../lib/bdc/plugins/${name}.so\"")
    else()
      string(JSON installed REMOVE "${installed}" ${list} ${count})
    endif()
  endwhile()
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/registry.installed.json" CONTENT "${installed}\n" @ONLY)

# Ready configs are looked for beside registry.json.
file(GLOB bdc_configs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/*.json)
foreach(config ${bdc_configs})
  get_filename_component(name ${config} NAME)
  configure_file(${config} ${PROJECT_BINARY_DIR}/configs/${name} COPYONLY)
endforeach()
