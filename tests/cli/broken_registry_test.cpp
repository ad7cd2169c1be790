// Every way a registry or a plugin file can be broken has its own message and exit code, and lists where was looked.

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>

#include "support/expect_refusal.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

struct Case {
  const char* name;
  std::string registry;  // written to registry.json
  int exit_code;
  std::vector<std::string> says;  // all must stand in the message
  std::function<void(const fs::path&)> prepare = {};
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

const std::string kPluginX = R"({"schema_version": 1, "plugins": [{"name": "x", "library": "lib/x.so"}]})";

std::function<void(const fs::path&)> file(const std::string& bytes) {
  return [bytes](const fs::path& folder) {
    fs::create_directories(folder / "lib");
    std::ofstream(folder / "lib/x.so", std::ios::binary) << bytes;
  };
}

/// An ELF header of another machine, then nothing.
std::string foreign_elf(char machine, char bits = 2) {
  std::string bytes(64, '\0');
  bytes.replace(0, 4,
                "\x7f"
                "ELF",
                4);
  bytes[4] = bits;
  bytes[5] = 1;
  bytes[16] = 3;
  bytes[18] = machine;
  bytes[54] = 56;
  return bytes;
}

class BrokenRegistry : public testing::TestWithParam<Case> {};

TEST_P(BrokenRegistry, HasItsOwnMessageAndExitCode) {
  const TemporaryFolder folder;
  folder.write("registry.json", GetParam().registry);
  if (GetParam().prepare) GetParam().prepare(folder.path());
  const auto outcome = run_host({"plugins", "info", "x"}, folder.path());
  bdc::test::expect_refusal(outcome, GetParam().exit_code, GetParam().says);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BrokenRegistry,
    testing::Values(
        Case{"not_json", "{\"schema_version\": 1,", 3, {"registry.json", "is not valid JSON", "line 1"}},
        Case{"empty_file", "", 3, {"registry.json", "is not valid JSON"}},
        Case{"top_is_list", "[]", 3, {"expected an object at the top", "an array"}},
        Case{"no_version", "{}", 3, {"has no \"schema_version\""}},
        Case{"version_text",
             R"({"schema_version": "1"})",
             3,
             {"schema_version", "expected the integer 1", "the string \"1\""}},
        Case{"version_newer", R"({"schema_version": 2})", 3, {"schema_version", "is 2", "reads version 1"}},
        Case{"unknown_key",
             R"({"schema_version": 1, "plugin": []})",
             3,
             {"plugin: unknown key", "did you mean 'plugins'?"}},
        Case{"duplicate_key", R"({"schema_version": 1, "schema_version": 1})", 3, {"'schema_version' appears twice"}},
        Case{"plugins_object", R"({"schema_version": 1, "plugins": {}})", 3, {"plugins: expected a list", "an object"}},
        Case{"entry_text", R"({"schema_version": 1, "plugins": ["x"]})", 3, {"plugins[0]: expected an object"}},
        Case{"entry_no_name",
             R"({"schema_version": 1, "plugins": [{"library": "x.so"}]})",
             3,
             {"plugins[0]: has no \"name\""}},
        Case{"entry_no_library",
             R"({"schema_version": 1, "plugins": [{"name": "x"}]})",
             3,
             {"plugins[0]: has no \"library\""}},
        Case{"name_number",
             R"({"schema_version": 1, "plugins": [{"name": 5, "library": "x.so"}]})",
             3,
             {"plugins[0].name: expected a string", "the number 5"}},
        Case{"name_path",
             R"({"schema_version": 1, "plugins": [{"name": "../x", "library": "x.so"}]})",
             3,
             {"plugins[0].name", "is not a plugin name"}},
        Case{"options_list",
             R"({"schema_version": 1, "plugins": [{"name": "x", "library": "x.so", "options": []}]})",
             3,
             {"plugins[0].options: expected an object"}},
        Case{"entry_unknown_key",
             R"({"schema_version": 1, "plugins": [{"name": "x", "libary": "x.so"}]})",
             3,
             {"plugins[0].libary: unknown key", "did you mean 'library'?"}},
        Case{
            "name_twice",
            R"({"schema_version": 1, "plugins": [{"name": "x", "library": "a.so"}, {"name": "x", "library": "b.so"}]})",
            3,
            {"registry.json: plugins[1].name: 'x' is in the list twice, here and in plugins[0]"}},
        Case{"nested_deeply", std::string(100, '[') + std::string(100, ']'), 3, {"nested deeper than 64"}},
        Case{"missing_file", kPluginX, 5, {"plugin 'x'", "lib/x.so: no such file"}},
        Case{"folder_named_so",
             kPluginX,
             5,
             {"lib/x.so: is a folder"},
             [](const fs::path& f) { fs::create_directories(f / "lib/x.so"); }},
        Case{"text_named_so",
             kPluginX,
             5,
             {"lib/x.so: is not a shared library (no ELF header)"},
             file("import torch\n")},
        Case{"empty_so", kPluginX, 5, {"lib/x.so: is not a shared library (too short)"}, file("")},
        Case{"symlink_loop",
             kPluginX,
             5,
             {"lib/x.so: its symbolic links form a loop"},
             [](const fs::path& f) {
               fs::create_directories(f / "lib");
               fs::create_symlink("y.so", f / "lib/x.so");
               fs::create_symlink("x.so", f / "lib/y.so");
             }},
        Case{"pipe_named_so",
             kPluginX,
             5,
             {"lib/x.so: is not a regular file"},
             [](const fs::path& f) {
               fs::create_directories(f / "lib");
               ASSERT_EQ(::mkfifo((f / "lib/x.so").c_str(), 0600), 0);
             }},
        Case{"other_machine",
             kPluginX,
             6,
             {"lib/x.so: is a library for another machine", "advice: build the plugin on this kind of machine"},
             file(foreign_elf(8))},
        Case{"other_bits", kPluginX, 6, {"is a library for another machine", "32-bit"}, file(foreign_elf(3, 1))},
        Case{"cut_elf",
             kPluginX,
             5,
             {"is cut off or damaged"},
             file("\x7f"
                  "ELF and no more")},
        Case{"no_note",
             kPluginX,
             5,
             {"carries no bdc plugin note", "bdc_add_detector_plugin"},
             [](const fs::path& f) {
               fs::create_directories(f / "lib");
               fs::copy(BDC_FIXTURES "/no_note.so", f / "lib/x.so");
             }},
        Case{"another_name",
             kPluginX,
             3,
             {"is named 'x'", "calls itself 'minimal'"},
             [](const fs::path& f) {
               fs::create_directories(f / "lib");
               fs::copy(BDC_BUILD_FOLDER "/plugins/minimal.so", f / "lib/x.so");
             }}),
    [](const auto& given) { return given.param.name; });

TEST(PluginSearch, AnUnknownNameListsEveryPathTriedAndTheNearestName) {
  const TemporaryFolder folder;
  folder.write("registry.json", R"({"schema_version": 1})");
  fs::create_directories(folder.path() / "mine");
  const auto outcome = run_host({"train", "--plugin", "minimall", "--plugin-path", "mine:gone"}, folder.path(),
                                {"BDC_PLUGIN_PATH=" + folder.path().string() + "/from_env"});
  EXPECT_EQ(outcome.exit_code, 5);
  for (const std::string text :
       {"no plugin is named 'minimall'", "did you mean 'minimal'?", "registry.json (no entry of that name)",
        "mine/minimall.so", "gone/minimall.so (no such folder)", "from_env/minimall.so", "plugins/minimall.so",
        "lib/bdc/plugins/minimall.so", "advice:"}) {
    EXPECT_NE(outcome.err.find(text), std::string::npos) << text << "\nin: " << outcome.err;
  }
}

TEST(PluginSearch, TwoPluginsOfOneNameAreAnErrorThatNamesBothFiles) {
  const TemporaryFolder folder;
  folder.write("registry.json", R"({"schema_version": 1})");
  for (const char* sub : {"a", "b"}) {
    fs::create_directories(folder.path() / sub);
    fs::copy(BDC_BUILD_FOLDER "/plugins/minimal.so", folder.path() / sub / "minimal.so");
  }
  const auto outcome =
      run_host({"plugins", "info", "minimal", "--plugin-path", "a", "--plugin-path", "b"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("two plugins are named 'minimal'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("a/minimal.so"), std::string::npos);
  EXPECT_NE(outcome.err.find("b/minimal.so"), std::string::npos);
}

TEST(PluginSearch, TwoPluginsOfOneNameAreNamedWithThePlacesThatListThem) {
  const TemporaryFolder folder;
  folder.write("registry.json",
               R"({"schema_version": 1, "plugins": [{"name": "minimal", "library": "a/minimal.so"}]})");
  for (const char* sub : {"a", "b"}) {
    fs::create_directories(folder.path() / sub);
    fs::copy(BDC_BUILD_FOLDER "/plugins/minimal.so", folder.path() / sub / "minimal.so");
  }
  const auto outcome = run_host({"plugins", "info", "minimal", "--plugin-path", "b"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("a/minimal.so (registry.json: plugins[0])"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("b/minimal.so (found in its folder)"), std::string::npos) << outcome.err;
}

TEST(PluginSearch, OneThatCannotBeLoadedHoldsUpNoOtherOfItsName) {
  const TemporaryFolder folder;
  folder.write("registry.json", R"({"schema_version": 1, "plugins": [{"name": "minimal", "library": "gone.so"},
                                                                     {"name": "lonely", "library": "gone.so"}]})");
  const auto found = run_host({"plugins", "info", "minimal"}, folder.path());  // the build's own is in the search path
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_NE(found.out.find("plugins/minimal.so"), std::string::npos) << found.out;
  const auto alone = run_host({"plugins", "info", "lonely"}, folder.path());
  EXPECT_NE(alone.exit_code, 0);
  EXPECT_NE(alone.err.find("gone.so"), std::string::npos) << alone.err;
}

TEST(PluginSearch, OptionsOfTheRegistryAreWrongInTheRegistry) {
  const TemporaryFolder folder;
  folder.write("registry.json", R"({"schema_version": 1, "plugins": [{"name": "minimal", "library": ")" BDC_BUILD_FOLDER
                                R"(/plugins/minimal.so", "options": {"widht": 8}}]})");
  const auto outcome = run_host({"config", "--plugin", "minimal"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("registry.json: plugins[0].options.widht: unknown option; did you mean 'width'?"),
            std::string::npos)
      << outcome.err;
}

TEST(PluginSearch, AMistypedHookGetsTheNearestBuiltInOne) {
  const TemporaryFolder folder;
  const auto hook = run_host({"config", "--plugin", "minimal", "--hook", "bcd"}, folder.path());
  EXPECT_EQ(hook.exit_code, 5);
  EXPECT_NE(hook.err.find("no hook is named 'bcd'; did you mean 'bdc'?"), std::string::npos) << hook.err;
  const auto info = run_host({"plugins", "info", "soft_nsm"}, folder.path());
  EXPECT_EQ(info.exit_code, 5);
  EXPECT_NE(info.err.find("did you mean 'soft_nms'?"), std::string::npos) << info.err;
}

TEST(PluginSearch, ADroppedInPluginIsFoundByItsNoteWithoutAnyEdit) {
  const TemporaryFolder folder;
  folder.write("registry.json", R"({"schema_version": 1})");
  fs::create_directories(folder.path() / "plugins");
  fs::copy(BDC_FIXTURES "/ignores_weights.so", folder.path() / "plugins/any_file_name.so");
  folder.write("plugins/notes.so", "not a library");
  const auto outcome = run_host({"plugins", "list"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("ignores_weights  detector  ok"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("is not a shared library"), std::string::npos);
  EXPECT_EQ(run_host({"plugins", "info", "ignores_weights"}, folder.path()).exit_code, 0);
}

TEST(PluginSearch, TheRegistryNamedByEnvironmentOrOptionMustExist) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_host({"plugins", "list", "--registry", "gone.json"}, folder.path()).exit_code, 3);
  const auto outcome = run_host({"plugins", "list"}, folder.path(), {"BDC_REGISTRY=gone.json"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("gone.json: no such file"), std::string::npos);
}

}  // namespace
