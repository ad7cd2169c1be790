// A stranger's way: install bdc, build the example against the installed package, drop the .so into a folder, train it.

#include <gtest/gtest.h>

#include <regex>

#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::run;
using bdc::test::TemporaryFolder;

/// Installs this build below `folder` and builds an example there against the installed package. Returns its build
/// folder.
fs::path build_example(const std::string& example, const TemporaryFolder& folder) {
  const fs::path prefix = folder.path() / "prefix", source = folder.path() / example;
  const auto install = run({"cmake", "--install", BDC_BUILD_FOLDER, "--prefix", prefix.string()}, folder.path());
  EXPECT_EQ(install.exit_code, 0) << install.err;
  fs::copy(BDC_SOURCE_FOLDER "/examples/" + example, source, fs::copy_options::recursive);
  const auto configure = run({"cmake", "-S", source.string(), "-B", (source / "build").string(), "-G", "Ninja",
                              "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_PREFIX_PATH=" + prefix.string()},
                             folder.path());
  EXPECT_EQ(configure.exit_code, 0) << configure.out << configure.err;
  const auto build = run({"cmake", "--build", (source / "build").string()}, folder.path());
  EXPECT_EQ(build.exit_code, 0) << build.out << build.err;
  return source / "build";
}

/// Nothing but the descriptor.
void expect_one_exported_symbol(const fs::path& library, const fs::path& folder) {
  const auto symbols = run({"nm", "-D", "--defined-only", library.string()}, folder);
  EXPECT_NE(symbols.out.find("bdc_plugin_descriptor"), std::string::npos) << symbols.out;
  EXPECT_EQ(std::count(symbols.out.begin(), symbols.out.end(), '\n'), 1) << symbols.out;
}

TEST(OutOfTree, ThePluginBuildsAgainstTheInstalledPackageAndTrainsWithoutTouchingTheRegistry) {
  const TemporaryFolder folder;
  const fs::path prefix = folder.path() / "prefix", work = folder.path() / "work";
  const fs::path library = build_example("minimal_plugin", folder) / "minimal.so";
  expect_one_exported_symbol(library, folder.path());

  fs::create_directories(work / "plugins");
  const std::string registry = R"({"schema_version": 1, "plugins": [], "hooks": []})";
  std::ofstream(work / "registry.json") << registry;
  fs::copy(library, work / "plugins/minimal.so");
  const std::string host = (prefix / "bin/bdc-host").string();
  const auto train = run({host, "--plugin", "minimal", "--json", "--set", "train.epochs=8", "--set",
                          "data.shapes.train_images=300", "--set", "data.shapes.classes=2"},
                         work);
  ASSERT_EQ(train.exit_code, 0) << train.err;
  const auto report = nlohmann::json::parse(train.out);
  EXPECT_GE(report["test"]["AP50"].get<double>(), 0.5);
  EXPECT_EQ(bdc::test::read_file(work / "registry.json"), registry);

  const auto doctor = run({host, "plugins", "doctor", "minimal"}, work);
  EXPECT_EQ(doctor.exit_code, 0) << doctor.out;
}

TEST(OutOfTree, AConsensusHookOfAStrangerTrainsOnWhatTheBuiltInOneDoes) {
  const TemporaryFolder folder;
  const fs::path library = build_example("consensus_hook", folder) / "majority.so";
  expect_one_exported_symbol(library, folder.path());
  // A detector beside the hook; the build's own plugins have a hook of that name, too.
  std::filesystem::copy_file(BDC_BUILD_FOLDER "/plugins/minimal.so", library.parent_path() / "minimal.so");
  const auto weights_with = [&](const std::string& hook) {
    const auto train = run({(folder.path() / "prefix/bin/bdc-host").string(),
                            "train",
                            "-q",
                            "--plugin-path",
                            library.parent_path().string(),
                            "--plugin",
                            "minimal",
                            "--hook",
                            hook,
                            "--set",
                            "output.name=" + hook,
                            "--set",
                            "train.epochs=3",
                            "--set",
                            "data.shapes.train_images=64",
                            "--set",
                            "data.shapes.test_images=8",
                            "--set",
                            "train.threads=1",
                            "--set",
                            "train.augment.flip_x=0.5",
                            "--set",
                            "train.augment.rotate=10"},
                           folder.path());
    EXPECT_EQ(train.exit_code, 0) << train.err;
    return bdc::test::tensor_bytes(folder.path() / "runs" / hook / "last.safetensors");
  };
  const auto own = weights_with("majority"), built_in = weights_with("mv");
  EXPECT_GT(own.size(), 1000u);
  EXPECT_TRUE(own == built_in) << "the same targets give the same bits";

  const auto both = run({(folder.path() / "prefix/bin/bdc-host").string(), "train", "--plugin-path",
                         library.parent_path().string(), "--plugin", "minimal", "--hook", "majority", "--hook", "mv"},
                        folder.path());
  EXPECT_EQ(both.exit_code, 3);
  EXPECT_NE(both.err.find("hooks 'majority' and 'mv' both make the targets"), std::string::npos) << both.err;
}

TEST(OutOfTree, AnInstalledHostFindsPluginsInItsOwnFolder) {
  const TemporaryFolder folder;
  const fs::path prefix = folder.path() / "prefix";
  ASSERT_EQ(run({"cmake", "--install", BDC_BUILD_FOLDER, "--prefix", prefix.string()}, folder.path()).exit_code, 0);
  fs::create_directories(prefix / "lib/bdc/plugins");
  fs::copy(BDC_BUILD_FOLDER "/plugins/minimal.so", prefix / "lib/bdc/plugins/minimal.so");
  const auto list = run({(prefix / "bin/bdc-host").string(), "plugins", "list"}, folder.path());
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_TRUE(std::regex_search(list.out, std::regex("minimal +detector +ok"))) << list.out;
}

}  // namespace
