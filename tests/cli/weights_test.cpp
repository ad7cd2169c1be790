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
