// Files of torch.save: the tensors they name, and the lies they may tell about them.

#include "weights/torch_archive.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "bdc/base/user_error.h"
#include "support/pickle_writer.h"
#include "support/temporary_folder.h"
#include "weights/weight_format.h"

namespace bdc::host {
namespace {

namespace write = test::pickle;
using test::torch_archive;
using Values = std::map<std::string, std::vector<float>>;

ByteSource source(const std::string& bytes) {
  return ByteSource::memory(bytes, "x.pt");
}

/// All tensors of an archive as floats, which they must be.
Values values_of(const TorchArchive& archive) {
  Values out;
  archive.read([&](const std::string& name, const TensorLayout& layout) {
    EXPECT_EQ(layout.type, ElementType::float32);
    auto& values = out[name];
    values.resize(static_cast<std::size_t>(layout.elements()));
    return reinterpret_cast<char*>(values.data());
  });
  return out;
}

Values values_in(const std::string& pickle, const std::map<std::string, std::string>& storages) {
  return values_of(TorchArchive(source(torch_archive(pickle, storages))));
}

void expect_refused(const std::string& file, const std::string& reason) {
  try {
    (void)values_of(TorchArchive(source(file)));
    ADD_FAILURE() << "accepted; expected: " << reason;
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::data);
    EXPECT_EQ(std::string(e.what()).find("x.pt: "), 0u) << e.what();
    EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what() << "\nexpected: " << reason;
  }
}

const std::map<std::string, std::string>& six() {
  static const std::map<std::string, std::string> storages = {{"0", write::bytes_of<float>({0, 1, 2, 3, 4, 5})}};
  return storages;
}
std::string six_storage() {
  return write::storage("FloatStorage", "0", 6);
}
std::string whole() {
  return write::tensor(six_storage(), 0, {2, 3}, {3, 1});
}
const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};

TEST(TorchArchive, StateDictsAreReadOrderedOrNot) {
  for (const auto& dict : {write::dict, write::ordered_dict}) {
    const auto pickle = write::finished(dict({{"a.weight", whole()}, {"epoch", write::integer(3)}}));
    EXPECT_EQ(values_in(pickle, six()), (Values{{"a.weight", kSix}}));
  }
}

TEST(TorchArchive, ViewsComeOutInRowMajorOrder) {
  const auto pickle = write::finished(write::dict({
      {"transposed", write::tensor(six_storage(), 0, {3, 2}, {1, 3})},
      {"column", write::tensor(six_storage(), 1, {2}, {3})},
      {"repeated", write::tensor(six_storage(), 5, {2, 2}, {0, 0})},
      {"single", write::tensor(six_storage(), 4, {}, {})},
      {"empty", write::tensor(six_storage(), 6, {0, 3}, {3, 1})},
      {"odd stride of a size of one", write::tensor(six_storage(), 0, {1, 3}, {1000, 1})},
  }));
  EXPECT_EQ(values_in(pickle, six()), (Values{{"transposed", {0, 3, 1, 4, 2, 5}},
                                              {"column", {1, 4}},
                                              {"repeated", {5, 5, 5, 5}},
                                              {"single", {4}},
                                              {"empty", {}},
                                              {"odd stride of a size of one", {0, 1, 2}}}));
}

TEST(TorchArchive, TheFirstPartWithTensorsIsTaken) {
  const auto other = write::tensor(six_storage(), 3, {1}, {1});
  const auto part_and_name = [](const write::Entries& entries) {
    const TorchArchive archive(source(torch_archive(write::finished(write::dict(entries)), six())));
    return archive.part() + ":" + archive.tensors().begin()->first;
  };
  const auto ema = write::nn_module({{"e", whole()}}, {}, {}), model = write::nn_module({{"m", other}}, {}, {});
  EXPECT_EQ(part_and_name({{"model", model}, {"ema", ema}}), "ema:e");
  EXPECT_EQ(part_and_name({{"model", model}, {"ema", write::none()}, {"optimizer", write::dict({{"o", other}})}}),
            "model:m");
  EXPECT_EQ(part_and_name({{"model", write::dict({{"w", whole()}})}, {"ema", write::dict({})}}), "model:w");
  EXPECT_EQ(part_and_name({{"state_dict", write::ordered_dict({{"s", whole()}})}, {"epoch", write::integer(1)}}),
            "state_dict:s");
  EXPECT_EQ(part_and_name({{"model_state_dict", write::dict({{"s", whole()}})}}), "model_state_dict:s");
  EXPECT_EQ(part_and_name({{"model", whole()}}), ":model");
}

TEST(TorchArchive, ModulesGiveParametersAndPersistentBuffersByDottedNames) {
  const auto parameter =
      write::call(write::global("torch._utils", "_rebuild_parameter"), {whole(), "\x88", write::ordered_dict({})});
  const auto typed = write::call(write::global("torch._tensor", "_rebuild_from_type_v2"),
                                 {write::global("torch._utils", "_rebuild_tensor_v2"), write::global("torch", "Tensor"),
                                  write::tuple({six_storage(), write::integer(2), write::integers({1}),
                                                write::integers({1}), "\x89", write::ordered_dict({})}),
                                  write::dict({})});
  const auto passing = write::call(write::global("__builtin__", "set"), {write::list({write::text("scratch")})});
  const auto leaf =
      write::object("models.common", "Conv",
                    {{"_parameters", write::ordered_dict({{"weight", parameter}, {"bias", write::none()}})},
                     {"_buffers", write::ordered_dict({{"mean", typed}, {"scratch", whole()}})},
                     {"_non_persistent_buffers_set", passing},
                     {"_modules", write::ordered_dict({{"act", write::none()}})}});
  const auto root = write::nn_module({}, {}, {{"model", write::nn_module({}, {}, {{"0", leaf}})}});
  EXPECT_EQ(values_in(write::finished(root), six()), (Values{{"model.0.weight", kSix}, {"model.0.mean", {2}}}));
}

TEST(TorchArchive, ElementTypesFollowTheStorages) {
  const std::vector<std::tuple<const char*, ElementType, int>> types = {
      {"DoubleStorage", ElementType::float64, 8}, {"FloatStorage", ElementType::float32, 4},
      {"HalfStorage", ElementType::float16, 2},   {"BFloat16Storage", ElementType::bfloat16, 2},
      {"LongStorage", ElementType::int64, 8},     {"IntStorage", ElementType::int32, 4},
      {"ShortStorage", ElementType::int16, 2},    {"CharStorage", ElementType::int8, 1},
      {"ByteStorage", ElementType::uint8, 1},     {"BoolStorage", ElementType::boolean, 1}};
  for (const auto& [name, type, size] : types) {
    const auto pickle =
        write::finished(write::dict({{"t", write::tensor(write::storage(name, "0", 24 / size), 0, {24 / size}, {1})}}));
    const TorchArchive archive(source(torch_archive(pickle, six())));
    EXPECT_EQ(archive.tensors().at("t").type, type) << name;
    EXPECT_EQ(element_size(type), static_cast<std::uint64_t>(size));
  }
  expect_refused(
      torch_archive(
          write::finished(write::dict({{"t", write::tensor(write::storage("QInt8Storage", "0", 24), 0, {24}, {1})}})),
          six()),
      "tensor 't': its storage is of type torch.QInt8Storage");
}

TEST(TorchArchive, AFileOfPyTorchGivesEveryNameAndShape) {
  const TorchArchive archive(ByteSource::open(BDC_TEST_DATA "/host/weights/data/module_half.pt"));
  EXPECT_EQ(archive.part(), "model");
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& [name, layout] : archive.tensors()) shapes[name] = layout.shape;
  std::map<std::string, std::vector<std::int64_t>> expected = {{"model.0.conv.weight", {4, 3, 3, 3}},
                                                               {"model.1.conv.weight", {4, 4, 3, 3}},
                                                               {"model.2.twin.weight", {4, 3, 3, 3}},
                                                               {"model.2.m.0.weight", {6, 4, 1, 1}},
                                                               {"model.2.m.0.bias", {6}},
                                                               {"model.2.anchors", {1, 2}}};
  for (const std::string conv : {"0", "1"}) {
    for (const char* name : {"weight", "bias", "running_mean", "running_var"})
      expected["model." + conv + ".bn." + name] = {4};
    expected["model." + conv + ".bn.num_batches_tracked"] = {};
  }
  EXPECT_EQ(shapes, expected);
  EXPECT_EQ(archive.tensors().at("model.0.bn.num_batches_tracked").type, ElementType::int64);
  EXPECT_NE(archive.tensors().at("model.1.conv.weight").strides, (std::vector<std::int64_t>{36, 9, 3, 1}));
}

// Hostile files

TEST(HostileTorchArchive, NothingIsRunAndTheMessageNamesWhatWouldHaveBeen) {
  const test::TemporaryFolder folder;
  const auto proof = folder.path() / "proof";
  const auto command = write::text("touch " + proof.string());
  const auto arguments = write::tuple({command});
  const std::vector<std::pair<std::string, std::string>> calls = {
      {write::call(write::global("os", "system"), {command}), "os.system"},
      {write::call(write::global("posix", "system"), {command}), "posix.system"},
      {write::text("subprocess") + write::text("Popen") + "\x93" + arguments + "R", "subprocess.Popen"},
      {write::call(write::global("builtins", "eval"), {write::text("1")}), "builtins.eval"},
      {write::call(write::global("__builtin__", "exec"), {write::text("1")}), "__builtin__.exec"},
      {"(" + command + "ios\nsystem\n", "os.system"},
      {"(" + write::global("os", "system") + command + "o", "os.system"},
      {write::global("subprocess", "Popen") + arguments + "\x81", "subprocess.Popen"},
      {write::call(write::global("runpy", "_run_code"), {command}), "runpy._run_code"},
  };
  for (const auto& [bytes, name] : calls) {
    const std::string reason = "asks for a call to " + name;
    expect_refused(torch_archive(write::finished(bytes), {}), reason);
    expect_refused(torch_archive(write::finished(write::dict({{"w", bytes}})), {}), reason);
    expect_refused(torch_archive(write::finished(write::dict({{"w", whole()}, {"optimizer", bytes}})), six()), reason);
    expect_refused(torch_archive(write::finished(write::nn_module({{"w", bytes}}, {}, {})), {}), reason);
  }
  EXPECT_FALSE(std::filesystem::exists(proof));
}

TEST(HostileTorchArchive, UnknownCallsAreNotTensors) {
  const auto unknown = write::call(write::global("my.package", "make"), {whole()});
  expect_refused(torch_archive(write::finished(unknown), six()), "found a call of my.package.make");
  expect_refused(torch_archive(write::finished(write::nn_module({{"w", unknown}}, {}, {})), six()),
                 "'w' is a call of my.package.make; expected a tensor");
  expect_refused(torch_archive(write::finished(write::nn_module({}, {}, {{"w", unknown}})), six()),
                 "'w' is a call of my.package.make; expected a module");
  const auto sparse = write::call(write::global("torch._utils", "_rebuild_sparse_tensor"), {whole()});
  expect_refused(torch_archive(write::finished(write::dict({{"w", sparse}})), six()),
                 "it is made by torch._utils._rebuild_sparse_tensor");
}

TEST(HostileTorchArchive, ShapesThatLeaveTheirStorageAreRefused) {
  const std::int64_t huge = std::int64_t{1} << 62, trillion = 1'000'000'000'000;
  const auto refuse = [](const std::string& tensor, const std::string& reason) {
    expect_refused(torch_archive(write::finished(write::dict({{"t", tensor}})), six()), reason);
  };
  const auto shaped = [](std::int64_t offset, const std::vector<std::int64_t>& shape,
                         const std::vector<std::int64_t>& strides) {
    return write::tensor(six_storage(), offset, shape, strides);
  };
  refuse(shaped(0, {7}, {1}), "leave its storage of 6 elements");
  refuse(shaped(1, {2, 3}, {3, 1}), "leave its storage");
  refuse(shaped(0, {2, 3}, {4, 1}), "leave its storage");
  refuse(shaped(6, {}, {}), "leave its storage");
  refuse(shaped(7, {0}, {1}), "leave its storage");
  refuse(shaped(0, {-1}, {1}), "shape: expected an integer that is not negative, found the integer -1");
  refuse(shaped(0, {2}, {-1}), "strides: expected an integer that is not negative");
  refuse(shaped(-1, {2}, {1}), "offset: expected an integer that is not negative");
  refuse(shaped(huge, {2}, {1}), "leave its storage");
  refuse(shaped(0, {2}, {huge}), "leave its storage");
  refuse(shaped(huge, {2, 2}, {huge, huge}), "leave its storage");
  refuse(shaped(0, {huge, 4}, {1, 1}), "too many elements");
  refuse(shaped(0, {0, huge, huge}, {1, 1, 1}), "too many elements");
  refuse(shaped(0, {trillion}, {1}), "leave its storage");
  refuse(shaped(0, {trillion}, {0}), "more than twice the file's size");
  refuse(shaped(0, {2, 3}, {3}), "2 sizes and 1 strides");
  refuse(shaped(0, std::vector<std::int64_t>(17, 1), std::vector<std::int64_t>(17, 1)), "17 dimensions");
  for (const std::int64_t elements : {std::int64_t{5}, std::int64_t{7}, trillion, huge}) {
    refuse(write::tensor(write::storage("FloatStorage", "0", elements), 0, {2}, {1}), "its storage is said to have");
  }
  refuse(write::tensor(write::storage("FloatStorage", "0", -6), 0, {2}, {1}), "number of elements");
  refuse(write::tensor(write::storage("FloatStorage", "../../0", 6), 0, {2}, {1}), "is not in the file");
  refuse(write::tensor(write::integer(5), 0, {2}, {1}), "its storage is the integer 5");
  refuse(write::tensor(write::integer(5) + "Q", 0, {2}, {1}), "expected 5 values in a tuple, found the integer 5");
  refuse(write::call(write::global("torch._utils", "_rebuild_tensor_v2"), {six_storage()}),
         "expected 4 values in a tuple, found a tuple of 1");
}

TEST(HostileTorchArchive, ManyTensorsOfOneStorageCannotFillTheMemory) {
  const std::string zeros(1 << 20, '\0');
  std::string entries;
  const std::string storage = write::storage("ByteStorage", "0", 1 << 20);
  const std::string memo = write::tensor(storage, 0, {1 << 20}, {1}) + "q\1" + "0";
  for (int i = 0; i < 50'000; ++i) entries += write::text(std::to_string(i)) + "h\1";
  expect_refused(torch_archive(write::finished(memo + "}(" + entries + "u"), {{"0", zeros}}),
                 "more than twice the file's size");
}

TEST(HostileTorchArchive, ModulesThatContainThemselvesOrEachOtherAgainAndAgainAreRefused) {
  const auto own = [](const std::string& modules) {
    return write::global("m", "C") + ")\x81q\1" +
           write::dict({{"_parameters", write::dict({})}, {"_modules", modules}}) + "b";
  };
  expect_refused(torch_archive(write::finished(own(write::dict({{"a", "h\1"}}))), {}), "contains itself");
  // Each of 60 modules has the next one twice: 2^60 names.
  std::string bytes = write::nn_module({{"w", whole()}}, {}, {}) + "q\1";
  for (int i = 0; i < 60; ++i) bytes += "0" + write::nn_module({}, {}, {{"a", "h\1"}, {"b", "h\1"}}) + "q\1";
  expect_refused(torch_archive(write::finished(bytes), six()), "more than ");
}

TEST(HostileTorchArchive, NamesMustBePrintableAndUnique) {
  const auto refuse = [](const write::Entries& entries, const std::string& reason) {
    expect_refused(torch_archive(write::finished(write::dict(entries)), six()), reason);
  };
  refuse({{"", whole()}}, "printable ASCII");
  refuse({{"a\x1b[31m", whole()}}, "printable ASCII");
  refuse({{"\xff\xfe", whole()}}, "printable ASCII");
  refuse({{std::string(1000, 'a'), whole()}}, "printable ASCII");
  refuse({{"__metadata__", whole()}}, "printable ASCII");
  refuse({{"a", whole()}, {"a", whole()}}, "is there twice");
  refuse({}, "holds no tensors");
}

TEST(HostileTorchArchive, ArchivesOfOtherKindsAreRefusedWithAReason) {
  using test::zip_archive;
  expect_refused(zip_archive({{"word/document.xml", "x"}}), "0 files <folder>/data.pkl");
  expect_refused(zip_archive({{"a/data.pkl", "N."}, {"b/data.pkl", "N."}}), "2 files <folder>/data.pkl");
  expect_refused(zip_archive({{"a/data.pkl", "N."}, {"a/constants.pkl", "N."}}), "is a TorchScript program");
  expect_refused(zip_archive({{"a/data.pkl", "N."}, {"a/byteorder", "big"}}), "another byte order");
  expect_refused(zip_archive({{"a/data.pkl", "N."}, {"a/byteorder", "little"}}), "holds no tensors");
  expect_refused(zip_archive({{"a/data.pkl", std::string((32 << 20) + 1, 'N')}}), "its data.pkl has");
}

TEST(HostileTorchArchive, EveryTruncationIsRefused) {
  const std::string file = test::read_file(BDC_TEST_DATA "/host/weights/data/module_half.pt");
  ASSERT_GT(file.size(), 5000u);
  for (std::size_t n = 0; n < file.size(); n += 64)
    EXPECT_THROW((void)TorchArchive(source(file.substr(0, n))), UserError) << n;
}

std::map<std::string, std::string> raw_values(const TorchArchive& archive) {
  std::map<std::string, std::string> out;
  archive.read([&](const std::string& name, const TensorLayout& layout) {
    auto& bytes = out[name];
    bytes.resize(static_cast<std::size_t>(layout.elements()) * element_size(layout.type));
    return bytes.data();
  });
  return out;
}

TEST(HostileTorchArchive, AFlippedBitIsRefusedOrChangesNothing) {
  const std::string file = test::read_file(BDC_TEST_DATA "/host/weights/data/module_half.pt");
  const auto expected = raw_values(TorchArchive(source(file)));
  int refused = 0;
  for (std::size_t byte = 0; byte < file.size(); byte += 3) {
    std::string broken = file;
    broken[byte] = static_cast<char>(broken[byte] ^ (1 << (byte % 8)));
    try {
      EXPECT_EQ(raw_values(TorchArchive(source(broken))), expected) << byte;
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1500);
}

/// The checksums keep damage from the pickle, so it is damaged before it is packed.
TEST(HostileTorchArchive, ADamagedPickleIsRefusedOrGivesTensorsWithinTheirStorages) {
  const auto bytes = source(test::read_file(BDC_TEST_DATA "/host/weights/data/module_half.pt"));
  const ZipFile zip(bytes);
  std::string pickle;
  std::map<std::string, std::string> storages;
  for (const auto& entry : zip.entries()) {
    if (entry.name == "module_half/data.pkl") pickle = zip.read(entry);
    if (entry.name.rfind("module_half/data/", 0) == 0) storages[entry.name.substr(17)] = zip.read(entry);
  }
  ASSERT_GT(pickle.size(), 1000u);
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string broken = pickle;
    for (unsigned i = 0; i <= random() % 3; ++i) broken[random() % broken.size()] = static_cast<char>(random());
    try {
      (void)raw_values(TorchArchive(source(torch_archive(broken, storages))));
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 150);
  EXPECT_LT(refused, 1500);
}

TEST(WeightFormat, IsKnownByTheBytes) {
  EXPECT_EQ(weight_format(source(torch_archive("N.", {}))), WeightFormat::torch_archive);
  EXPECT_EQ(weight_format(source(std::string("\2\0\0\0\0\0\0\0{}", 10))), WeightFormat::safetensors);
  const auto refuse = [](const std::string& bytes, const std::string& reason) {
    try {
      (void)weight_format(source(bytes));
      ADD_FAILURE() << reason;
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
    }
  };
  refuse("", "is empty");
  refuse("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "before PyTorch 1.6");
  refuse("hello, this is text", "is neither");
}

}  // namespace
}  // namespace bdc::host
