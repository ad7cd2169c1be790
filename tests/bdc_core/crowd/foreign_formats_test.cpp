// Files of programs whose formats are not read: the refusal names the format and says what to do.
#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

struct ForeignFile {
  const char *name, *text, *message;
};

TEST(ForeignFormats, EveryRefusalNamesWhatTheFileLooksLike) {
  const ForeignFile files[] = {
      {"list.json", R"([{"foo": 1}])", "read as label-studio, which the file resembles most"},
      {"results.json", R"([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 0.5}])",
       "looks like a list of a detector's results (COCO)"},
      {"anns.json", R"([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}])", "a list of COCO annotations alone"},
      {"via3.json", R"({"project": {"pid": "x", "vid_list": ["1"]}, "config": {}, "metadata": {}})",
       "looks like a project of VIA 3"},
      {"vott.json", R"({"name": "p", "securityToken": "t", "assets": {}})", "looks like a VoTT project"},
      {"createml.json",
       R"([{"image": "a.jpg", "annotations": [{"label": "a", "coordinates": {"x": 1, "y": 1, "width": 1, "height": 1}}]}])",
       "looks like Apple's CreateML"},
      {"box.ndjson", R"({"data_row": {"id": "x"}, "projects": {}})", "looks like an export of Labelbox"},
      {"bdd.json", R"([{"name": "a.jpg", "labels": [{"category": "car", "box2d": {"x1": 1}}]}])", "BDD100K"},
      {"kitti.txt", "Car 0.00 0 -1.57 614.24 181.78 727.31 284.77 1.57 1.73 4.15 1.00 1.75 13.22 -1.62\n",
       "looks like KITTI's text"},
      {"gt.txt", "1,1,10,20,30,40,1,1,0.9\n", "a table of the MOT challenge"},
      {"dota.txt", "imagesource:GoogleEarth\ngsd:0.14\n", "looks like DOTA's text"},
      {"d2.txt", "1 2 3 4 5 6 7 8 plane 0\n", "looks like DOTA's text"},
      {"a.tfrecord", "xx", "looks like a TFRecord"},
      {"a.png", "\x89PNG\r\n", "looks like a picture; expected its labels"},
      {"a.csv.gz", "\x1F\x8B\x08", "a gzip file; unpack it first"},
      {"a.parquet", "PAR1", "a Parquet table"},
  };
  const TemporaryFolder folder;
  for (const ForeignFile& file : files) {
    const std::string path = folder.write(file.name, file.text);
    const std::string error = error_of([&] { static_cast<void>(read_crowd({path})); });
    EXPECT_NE(error.find(file.message), std::string::npos) << file.name << ": " << error;
    EXPECT_EQ(error.find("unknown format"), std::string::npos) << error;
  }
}

TEST(ForeignFormats, AFolderThatIsNotRecognisedSaysWhatItHolds) {
  const TemporaryFolder folder;
  folder.write("kitti/1.txt", "Car 0.00 0 -1.57 614.24 181.78 727.31 284.77 1.57 1.73 4.15 1.00 1.75 13.22 -1.62\n");
  const std::string error = error_of([&] { static_cast<void>(read_crowd({folder / "kitti"})); });
  EXPECT_NE(error.find("1.txt, which looks like KITTI's text"), std::string::npos) << error;
}

}  // namespace
}  // namespace bdc::test
