// Weight files through the front door.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/pickle_writer.h"
#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
namespace write = bdc::test::pickle;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

/// The header of a safetensors file.
nlohmann::json header(const fs::path& file) {
  const std::string bytes = read_file(file);
  std::uint64_t size = 0;
  for (std::size_t i = 8; i-- > 0;) size = size << 8 | static_cast<unsigned char>(bytes.at(i));
  return nlohmann::json::parse(bytes.substr(8, size));
}

TEST(ConvertWeights, APickledModuleBecomesSafetensors) {
  const TemporaryFolder folder;
  const std::string from = BDC_TEST_DATA "/host/weights/data/module_half.pt";
  const auto half = run_host({"convert", "weights", from, "half.safetensors"}, folder.path());
  ASSERT_EQ(half.exit_code, 0) << half.err;
  EXPECT_NE(half.out.find("read 16 tensors"), std::string::npos) << half.out;
  EXPECT_EQ(header(folder.path() / "half.safetensors").at("model.0.conv.weight").at("dtype"), "F16");
  ASSERT_EQ(run_host({"convert", "weights", from, "wide.safetensors", "--float32"}, folder.path()).exit_code, 0);
  const auto wide = header(folder.path() / "wide.safetensors");
  EXPECT_EQ(wide.at("model.0.conv.weight").at("dtype"), "F32");
  EXPECT_EQ(wide.at("model.0.conv.weight").at("shape"), nlohmann::json({4, 3, 3, 3}));
  EXPECT_EQ(wide.at("model.0.bn.num_batches_tracked").at("dtype"), "I64");
}

TEST(ConvertWeights, OnlyFilesOfItsOwnAreReplaced) {
  const TemporaryFolder folder;
  const std::string from = BDC_TEST_DATA "/host/weights/data/module_half.pt";
  folder.write("mine.safetensors", "somebody's weights");
  const auto kept = run_host({"convert", "weights", from, "mine.safetensors"}, folder.path());
  EXPECT_EQ(kept.exit_code, 2) << kept.err;
  EXPECT_NE(kept.err.find("--force"), std::string::npos) << kept.err;
  EXPECT_EQ(read_file(folder.path() / "mine.safetensors"), "somebody's weights");
  EXPECT_EQ(run_host({"convert", "weights", from, "mine.safetensors", "--force"}, folder.path()).exit_code, 0);
  EXPECT_EQ(run_host({"convert", "weights", from, "mine.safetensors"}, folder.path()).exit_code, 0) << "ours now";
}

/// A safetensors file of float32 zeros.
std::string zeros(const std::vector<std::pair<std::string, std::vector<int>>>& tensors) {
  nlohmann::ordered_json header;
  std::size_t at = 0;
  for (const auto& [name, shape] : tensors) {
    std::size_t bytes = 4;
    for (const int n : shape) bytes *= static_cast<std::size_t>(n);
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  const std::string text = header.dump();
  return bdc::test::little_endian_bytes(text.size(), 8) + text + std::string(at, '\0');
}

TEST(TrainWeights, ThoseOfAnotherDetectorThatFitByChanceAreAnErrorUnlessTheyAreMeant) {
  const TemporaryFolder folder;
  const std::vector<std::string> run = {"train",   "--plugin",
                                        "minimal", "-q",
                                        "--set",   "train.epochs=1",
                                        "--set",   "data.shapes.train_images=8",
                                        "--set",   "data.shapes.test_images=4"};
  ASSERT_EQ(run_host(run, folder.path()).exit_code, 0);
  const auto own = header(folder.path() / "runs/minimal-1/best.safetensors");
  const auto bias = own.contains("model/head.bias") ? own["model/head.bias"] : own["head.bias"];
  ASSERT_TRUE(bias.is_object()) << own.dump();
  folder.write("other.safetensors",
               zeros({{"head.bias", bias["shape"].get<std::vector<int>>()}, {"encoder.weight", {1000, 1000}}}));
  auto other = run;
  other.insert(other.end(), {"--set", "train.weights=other.safetensors"});
  const auto refused = run_host(other, folder.path());
  EXPECT_EQ(refused.exit_code, 4) << refused.err;
  EXPECT_NE(refused.err.find("of its weights fit plugin 'minimal' (1 tensors)"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("train.partial_weights=true"), std::string::npos) << refused.err;
  other.insert(other.end(), {"--set", "train.partial_weights=true"});
  EXPECT_EQ(run_host(other, folder.path()).exit_code, 0);
}

TEST(ConvertWeights, AHostileFileIsRefusedAndRunsNothing) {
  const TemporaryFolder folder;
  const auto proof = folder.path() / "proof";
  folder.write("evil.pt",
               bdc::test::torch_archive(write::finished(write::call(write::global("os", "system"),
                                                                    {write::text("touch '" + proof.string() + "'")})),
                                        {}));
  bdc::test::ZipMember bomb{"a/data.pkl", "xxxx"};
  bomb.method = 8;
  bomb.size = 1'000'000'000;
  folder.write("bomb.pt", bdc::test::zip_archive({bomb}));
  folder.write("overlap.safetensors",
               bdc::test::little_endian_bytes(136, 8) +
                   R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}                                )" +
                   "1234");
  folder.write("text.pt", "not weights at all");
  for (const auto& [file, reason] :
       {std::pair("evil.pt", "asks for a call to os.system"), std::pair("bomb.pt", "is compressed"),
        std::pair("overlap.safetensors", "overlaps"), std::pair("text.pt", "is neither"),
        std::pair("none.pt", "no such file")}) {
    const auto outcome = run_host({"convert", "weights", file, "out.safetensors"}, folder.path());
    EXPECT_EQ(outcome.exit_code, 4) << file;
    EXPECT_NE(outcome.err.find(std::string(file) + ": "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(reason), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(fs::exists(proof));
  EXPECT_FALSE(fs::exists(folder.path() / "out.safetensors"));
}

TEST(ConvertWeights, UsageErrorsExitWithTwo) {
  const TemporaryFolder folder;
  const auto from = folder.write("x.safetensors", "anything");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"convert", "weights"},
                                                {"convert", "weights", from},
                                                {"convert", from, "weights"},
                                                {"convert", "weights", from, "out.pt"},
                                                {"convert", "weights", from, "x.safetensors"}}) {
    const auto outcome = run_host(words, folder.path());
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  }
  EXPECT_EQ(read_file(from), "anything");
}

}  // namespace
