# bdc_add_detector_plugin(<name> SOURCES <files...> [LIBRARIES <targets...>])
# bdc_add_hook_plugin(<name> SOURCES <files...> [LIBRARIES <targets...>])
#
# Builds the shared library <name>.so that bdc-host finds by <name>: links bdc::plugin_api, gives the sources the plugin's
# name (they carry it, with the ABI fingerprint, in an ELF note), hides every symbol but the descriptor, and fails at
# link time when a symbol is undefined. In this project's own build the library goes to build/plugins.
set(BDC_PLUGIN_VERSION_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/plugin.map")

function(bdc_add_detector_plugin name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT name MATCHES "^[a-z0-9][a-z0-9_-]*$")
    message(FATAL_ERROR "bdc_add_detector_plugin: the name '${name}' must be of lower case letters, digits, _ and -")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "bdc_add_detector_plugin(${name}): SOURCES is missing")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "bdc_add_detector_plugin(${name}): not understood: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME "${name}"
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS "${BDC_PLUGIN_VERSION_SCRIPT}")
  if(BDC_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${BDC_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  target_compile_definitions(${name} PRIVATE BDC_PLUGIN_NAME="${name}")
  target_link_libraries(${name} PRIVATE bdc::plugin_api ${ARG_LIBRARIES})
  target_link_options(${name} PRIVATE "LINKER:--version-script=${BDC_PLUGIN_VERSION_SCRIPT}" "LINKER:--no-undefined")
endfunction()

function(bdc_add_hook_plugin name)
  bdc_add_detector_plugin(${name} ${ARGN})
endfunction()
