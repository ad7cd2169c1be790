// The unpickler: data comes back as it was put in, and nothing a pickle asks for is done.

#include "weights/pickle.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bdc/base/user_error.h"
#include "support/pickle_writer.h"

namespace bdc::host {
namespace {

namespace write = test::pickle;
using Kind = PickleKind;

PickleTree read(const std::string& bytes) {
  return unpickle(bytes, "x.pt");
}

void expect_refused(const std::string& bytes, const std::string& reason) {
  try {
    (void)read(bytes);
    ADD_FAILURE() << "accepted; expected: " << reason;
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::data);
    EXPECT_EQ(std::string(e.what()).find("x.pt: pickle, byte "), 0u) << e.what();
    EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what() << "\nexpected: " << reason;
  }
}

std::string repeated(const std::string& part, std::size_t count) {
  std::string out;
  out.reserve(part.size() * count);
  for (std::size_t i = 0; i < count; ++i) out += part;
  return out;
}

/// The most memory that a child process had that reads the bytes, in MB.
long peak_megabytes(const std::string& bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      (void)read(bytes);
    } catch (const UserError&) {
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  struct rusage usage {};
  ::wait4(child, &status, 0, &usage);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return usage.ru_maxrss / 1024;
}

TEST(Pickle, ScalarsOfEveryInstruction) {
  const auto integer = [](const std::string& bytes) {
    const PickleTree tree = read(bytes + ".");
    EXPECT_EQ(tree[tree.root()].kind, Kind::integer);
    return tree[tree.root()].integer;
  };
  EXPECT_EQ(integer("I-17\n"), -17);
  EXPECT_EQ(integer("L123456789012L\n"), 123456789012);
  EXPECT_EQ(integer(std::string("J\xfe\xff\xff\xff")), -2);
  EXPECT_EQ(integer("K\xff"), 255);
  EXPECT_EQ(integer("M\x01\x02"), 513);
  EXPECT_EQ(integer(std::string("\x8a\x00", 2)), 0);
  EXPECT_EQ(integer("\x8a\x01\xff"), -1);
  EXPECT_EQ(integer(std::string("\x8a\x02\xff\x00", 4)), 255);
  EXPECT_EQ(integer(write::integer(INT64_MIN)), INT64_MIN);
  EXPECT_EQ(integer(std::string("\x8b\x01\x00\x00\x00\x07", 6)), 7);
  const auto kind_and_text = [](const std::string& bytes) {
    const PickleTree tree = read(bytes + ".");
    return std::make_pair(tree[tree.root()].kind, tree[tree.root()].text);
  };
  for (const std::string& bytes :
       {std::string("S'ab'\n"), std::string("T\2\0\0\0ab", 7), std::string("U\2ab"), std::string("Vab\n"),
        std::string("X\2\0\0\0ab", 7), std::string("\x8c\2ab"), std::string("\x8d\2\0\0\0\0\0\0\0ab", 11)}) {
    EXPECT_EQ(kind_and_text(bytes), std::make_pair(Kind::string, std::string("ab")));
  }
  for (const std::string& bytes :
       {std::string("B\2\0\0\0ab", 7), std::string("C\2ab"), std::string("\x8e\2\0\0\0\0\0\0\0ab", 11),
        std::string("\x96\2\0\0\0\0\0\0\0ab", 11)}) {
    EXPECT_EQ(kind_and_text(bytes), std::make_pair(Kind::bytes, std::string("ab")));
  }
  EXPECT_EQ(kind_and_text("\x8a\x09"
                          "123456789"),
            std::make_pair(Kind::big_integer, std::string("123456789")));
  for (const std::string& bytes : {std::string("F2.5\n"), std::string("G\x40\x04\0\0\0\0\0\0", 9)}) {
    const PickleTree tree = read(bytes + ".");
    EXPECT_EQ(tree[tree.root()].kind, Kind::real);
    EXPECT_EQ(tree[tree.root()].real, 2.5);
  }
  for (const std::string& bytes : {std::string("\x88"), std::string("I01\n")}) {
    const PickleTree tree = read(bytes + ".");
    EXPECT_EQ(tree[tree.root()].kind, Kind::boolean);
    EXPECT_EQ(tree[tree.root()].integer, 1);
  }
}

TEST(Pickle, CollectionsKeepTheirItemsInOrder) {
  const auto check = [](const std::string& bytes, Kind kind, const std::vector<std::int64_t>& expected) {
    const PickleTree tree = read(bytes + ".");
    const PickleValue& root = tree[tree.root()];
    EXPECT_EQ(root.kind, kind) << bytes;
    std::vector<std::int64_t> found;
    for (const PickleId id : root.items) found.push_back(tree[id].integer);
    EXPECT_EQ(found, expected) << bytes;
  };
  check(")", Kind::tuple, {});
  check("K\1\x85", Kind::tuple, {1});
  check("K\1K\2\x86", Kind::tuple, {1, 2});
  check("K\1K\2K\3\x87", Kind::tuple, {1, 2, 3});
  check("(K\1K\2K\3K\4t", Kind::tuple, {1, 2, 3, 4});
  check("]K\1aK\2a(K\3K\4e", Kind::list, {1, 2, 3, 4});
  check("(K\1K\2l", Kind::list, {1, 2});
  check("}K\1K\2s(K\3K\4u", Kind::dict, {1, 2, 3, 4});
  check("(K\1K\2d", Kind::dict, {1, 2});
  check("\x8f(K\1K\2\x90", Kind::set, {1, 2});
  check("(K\1K\2\x91", Kind::set, {1, 2});
  // Stored values: by a byte, by a line, by four bytes, by their order.
  const std::string pop = "0", pop_to_mark = "1";
  check("K\1q\5" + pop + "h\5h\5\x86", Kind::tuple, {1, 1});
  check("K\1p300\n0g300\ng300\n\x86", Kind::tuple, {1, 1});
  check("K\1" + std::string("r\1\2\0\0", 5) + pop + std::string("j\1\2\0\0", 5) + "K\2\x86", Kind::tuple, {1, 2});
  check("N\x94K\1\x94K\2\x94" + pop + pop + pop + "h\1h\2\x86", Kind::tuple, {1, 2});
  check("(K\1K\2" + pop_to_mark + "K\7\x85", Kind::tuple, {7});
  check("(0K\7\x85", Kind::tuple, {7});
}

TEST(Pickle, CallsAreRecordedAndNeverMade) {
  const std::string os = write::global("os", "system"), arguments = write::tuple({write::text("exit 1")});
  for (const std::string& bytes :
       {os + arguments + "R", os + arguments + "\x81", os + arguments + "}\x92", "(" + os + write::text("exit 1") + "o",
        "(" + write::text("exit 1") + "ios\nsystem\n",
        write::text("os") + write::text("system") + "\x93" + arguments + "R"}) {
    const PickleTree tree = read(bytes + ".");
    EXPECT_EQ(tree[tree.root()].kind, Kind::object);
    EXPECT_EQ(tree.called(tree.root()), "os.system");
    EXPECT_EQ(tree.describe(tree.root()), "a call of os.system");
  }
  const PickleTree tree = read(write::object("a.b", "C", {{"x", write::integer(5)}}) + "(K\1K\2u.");
  const PickleObject object = tree.object(tree.root());
  EXPECT_EQ(tree.called(tree.root()), "a.b.C");
  EXPECT_EQ(tree[tree[object.state].items[1]].integer, 5);
  EXPECT_EQ(tree[object.contents].items.size(), 2u);
}

TEST(Pickle, ValuesThatContainThemselvesAreRead) {
  for (const std::string& bytes :
       {std::string("]q\0h\0a.", 7), std::string("}q\0K\1h\0s.", 9), std::string("cm\nC\n)\x81q\0}K\1h\0sb.", 17)}) {
    const PickleTree tree = read(bytes);
    EXPECT_FALSE(tree.describe(tree.root()).empty());
  }
}

TEST(Pickle, BrokenOnesAreRefusedWithTheByte) {
  expect_refused("", "cut off");
  expect_refused("N", "cut off");
  expect_refused(".", "takes a value that is not there");
  expect_refused("NN.", "values left over");
  expect_refused("(N.", "values left over");
  expect_refused("N.N", "more bytes follow");
  expect_refused("\x80\x06N.", "protocol 6");
  expect_refused(std::string("\x95\xff\0\0\0\0\0\0\0N.", 11), "frame");
  expect_refused("X\xff\xff\xff\xffhello", "expected 4294967295 more bytes, found 5");
  expect_refused("\x8d\xff\xff\xff\xff\xff\xff\xff\xffhello", "cut off");
  expect_refused("\x8b\xff\xff\xff\xffhello", "cut off");
  expect_refused("h\7.", "recalls value 7, which was never stored");
  expect_refused("gx\n.", "number of a stored value");
  expect_refused("q\1.", "takes a value that is not there");
  expect_refused("(t\x86.", "takes a value that is not there");
  expect_refused("(K\1(\x85.", "takes a value that is not there");
  expect_refused("t.", "a mark that is not there");
  expect_refused("(o.", "no class");
  expect_refused("(K\1d.", "a key without a value");
  expect_refused("}(K\1u.", "a key without a value");
  expect_refused("NK\1a.", "puts items into None");
  expect_refused("}K\1a.", "puts items into a dict of 0");
  expect_refused("}}b.", "sets the state of a dict of 0");
  expect_refused("cm\nC\n)\x81}b}b.", "twice");
  expect_refused("cm\nC\n)\x81K\1aK\1K\2s.", "as a list and as a dict");
  expect_refused("K\1K\2\x93.", "a name of a class or function is the integer 2");
  expect_refused("cos", "line of text");
  expect_refused("Ix\n.", "expected an integer");
  expect_refused("I99999999999999999999\n.", "expected an integer of 64 bits");
  expect_refused("Fx\n.", "expected a number");
  expect_refused("Sx\n.", "quoted string");
  for (const char* opcode : {"\x82\1", "\x97", "\x98", "\xff", "z"})
    expect_refused(std::string(opcode) + ".", "not an instruction that torch.save writes");
}

TEST(Pickle, EveryTruncationIsRefused) {
  const std::string whole = write::finished(write::dict(
      {{"model", write::nn_module({{"w", write::tensor(write::storage("FloatStorage", "0", 4), 0, {2, 2}, {2, 1})}}, {},
                                  {{"0", write::none()}})}}));
  (void)read(whole);
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_THROW((void)read(whole.substr(0, n)), UserError) << n;
}

TEST(Pickle, DeepNestingIsRefusedOrHarmless) {
  const std::size_t million = 1'000'000;
  expect_refused(")" + repeated("\x85", million) + ".", "nested deeper than 1000");
  expect_refused(repeated("(", million) + repeated("t", million) + ".", "nested deeper than 1000");
  expect_refused(repeated("]", million) + repeated("a", million) + ".", "nested deeper than 1000");
  expect_refused("cm\nC\n" + repeated(")R", million) + ".", "nested deeper than 1000");
  expect_refused(")" + repeated("Q", million) + ".", "nested deeper than 1000");
  // Each list is put into the one before it while still empty, so how deep it becomes is not known then.
  const std::string outermost = std::string("]q\0", 3), first = std::string("0h\0.", 4);
  const std::string link = "]q\1a0h\1";  // a new list into the last one, then the new one alone
  const PickleTree tree = read(outermost + repeated(link, 300'000) + first);
  std::size_t length = 0;
  for (PickleId id = tree.root(); !tree[id].items.empty(); id = tree[id].items[0]) ++length;
  EXPECT_EQ(length, 300'000u);
}

TEST(Pickle, BombsTakeBoundedMemory) {
  const std::size_t full = PickleLimits{}.bytes - 100;
  // A list of ten times the same list of ten times the same list...: 10^200 items, 201 values.
  std::string shared = "]q\1";
  for (int i = 0; i < 200; ++i) shared += "0](h\1h\1h\1h\1h\1h\1h\1h\1h\1h\1eq\1";
  const PickleTree tree = read(shared + ".");
  EXPECT_EQ(tree.size(), 202u);
  EXPECT_LT(tree.describe(tree.root()).size(), 200u);
  const std::string long_name = write::text(std::string(1'000'000, 'n')) + "q\1";
  const std::pair<const char*, std::string> bombs[] = {
      {"values", repeated(")", full)},
      {"copies of one value", "N" + repeated("2", full)},
      {"copies in lists", repeated("]", 1) + "(" + "N" + repeated("2", full) + "e."},
      {"stored values", "N" + repeated("\x94", full)},
      {"long names", long_name + repeated("h\1h\1\x93", full / 10)},
      {"objects", repeated("cm\nC\n)R", full / 8)},
      {"one huge string", write::text(std::string(full, 'x')) + "."},
  };
  for (const auto& [name, bytes] : bombs) EXPECT_LT(peak_megabytes(bytes), 700) << name;
  expect_refused(std::string(PickleLimits{}.bytes + 1, ')'), "bytes; at most");
  expect_refused(repeated(")", full), "more than 2000000 values");
  expect_refused("N" + repeated("\x94", full), "stores more than");
  expect_refused(long_name + repeated("h\1h\1\x93", 1000), "names of classes and functions are too long");
}

}  // namespace
}  // namespace bdc::host
