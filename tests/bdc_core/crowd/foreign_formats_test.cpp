// Files of programs whose formats are not read: the refusal names the format and says what to do.
#include <array>
#include <filesystem>

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
      {"asset.json", R"({"asset": {"name": "a.jpg"}, "regions": []})", "a picture's file of a VoTT project"},
      {"v7.json", R"({"item": {}, "annotations": [{"bounding_box": {"h": 1, "w": 2, "x": 3, "y": 4}, "name": "a"}]})",
       "looks like JSON of V7 Darwin"},
      {"sa.json", R"({"metadata": {}, "instances": [{"type": "bbox", "className": "a"}]})", "SuperAnnotate's JSON"},
      {"city.json", R"({"imgHeight": 9, "imgWidth": 9, "objects": []})", "the JSON of Cityscapes"},
      {"task.json", R"({"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": []}]})",
       "a task or an annotation alone, as Label Studio's storage"},
      {"ls.csv", "annotation_id,annotator,id,image,label,lead_time\n1,1,1,a.jpg,[],2\n", "a table of Label Studio"},
      {"wheat.csv", "image_id,width,height,bbox\na,9,9,\"[1, 2, 3, 4]\"\n", "all four numbers of a box in one column"},
      {"train.odgt", R"({"ID": "1", "gtboxes": []})", "CrowdHuman's odgt"},
      {"scale.json", R"([{"task_id": "1", "response": {"annotations": []}}])", "tasks of Scale AI"},
      {"vertex.jsonl", R"({"imageGcsUri": "gs://a/b.jpg", "boundingBoxAnnotations": []})", "Google's Vertex AI"},
      {"keras.csv", "a.jpg,1,2,21,12,cat\nb.jpg,,,,,\n", "a table of boxes without a heading"},
      {"train.txt", "a.jpg 1,2,3,4,0 5,6,7,8,1\n", "a list of pictures with their boxes"},
      {"list.txt", "images/a.jpg\nimages/b.jpg\n", "a list of pictures; expected their labels"},
      {"obj.data", "classes = 2\ntrain = train.txt\n", "darknet's list of places"},
      {"gt_img_1.txt",
       "\xEF\xBB\xBF"
       "377,117,463,117,465,130,378,130,Genaxis Theatre\r\n",
       "ICDAR's text"},
      {"gt_img_2.txt", "377,117,463,117,465,130,378,130,Latin,Genaxis, Theatre\n", "ICDAR's text"},
      {"gt_img_3.txt", "38, 43, 920, 215, \"Tiredness\"\n", "ICDAR's text"},
      {"gt_img_4.txt", "38 43 920 215 \"Tiredness\"\n", "ICDAR's text"},
      {"wider.txt", "0--Parade/a.jpg\n1\n449 330 122 149 0 0 0 0 0 0\n", "WIDER FACE's text"},
      {"kitti.txt", "Car 0.00 0 -1.57 614.24 181.78 727.31 284.77 1.57 1.73 4.15 1.00 1.75 13.22 -1.62\n",
       "looks like KITTI's text"},
      {"gt.txt", "1,1,10,20,30,40,1,1,0.9\n", "a table of the MOT challenge"},
      {"dota.txt", "imagesource:GoogleEarth\ngsd:0.14\n", "looks like DOTA's text"},
      {"d2.txt", "1 2 3 4 5 6 7 8 plane 0\n", "looks like DOTA's text"},
      {"a.tfrecord", "xx", "looks like a TFRecord"},
      {"b.tfrecord-00000-of-00001", "xx", "looks like a TFRecord"},
      {"a.7z", "7z\xBC\xAF", "an archive; unpack it first"},
      {"a.xlsx", "PK\x03\x04", "a spreadsheet; save it as CSV first"},
      {"a.mat", "MATLAB 5.0 MAT-file", "a file of numbers (HDF5 or MATLAB)"},
      {"a.png", "\x89PNG\r\n", "looks like a picture; expected its labels"},
      {"a.csv.gz", "\x1F\x8B\x08", "a gzip file; unpack it first"},
      {"a.parquet", "PAR1", "a Parquet table"},
      {"dataloop.json", R"({"annotations": [{"id": "1", "datasetId": "6", "coordinates": [{"x": 1, "y": 2}]}]})",
       "Dataloop's JSON"},
      {"d2.json", R"([{"file_name": "a.png", "annotations": [{"bbox": [1, 2, 3, 4], "bbox_mode": 0, "category_id": 1}],
                       "image_id": 0}])",
       "Detectron2's dicts"},
      {"annotations.json", R"([{"version": 0, "tags": [], "shapes": [{"type": "rectangle", "frame": 0}]}])",
       "a backup of CVAT"},
      {"task.json", R"({"name": "t", "bug_tracker": "", "jobs": []})", "a backup of CVAT"},
      {"mpii.json", R"([{"joints_vis": [1, 0], "joints": [[1, 2]], "image": "a.jpg"}])", "MPII's poses"},
      {"md.json",
       R"({"info": {}, "images": [{"file": "a.png", "detections": [{"category": "2", "conf": 0.9, "bbox": [0, 0, 1, 1]}]}]})",
       "what MegaDetector found"},
      {"prodigy.jsonl", "{\"image\": \"a.png\", \"spans\": []}\n{\"image\": \"b.png\", \"spans\": []}\n", "Prodigy"},
      {"azure.jsonl", "{\"image_url\": \"a\", \"label\": [{\"topX\": 0.1, \"bottomX\": 0.2}]}\n{}\n",
       "Azure Machine Learning"},
      {"metadata.jsonl", "{\"file_name\": \"a.png\", \"objects\": {\"bbox\": []}}\n{}\n", "Hugging Face"},
      {"other.jsonl", "{\"a\": 1}\n{\"a\": 2}\n", "JSON lines"},
      {"imglab.xml",
       "<?xml version='1.0'?><dataset><images><image file='a.png'><box top='1'/></image></images></dataset>",
       "dlib's imglab"},
      {"zoo.csv", "classification_id,user_name,user_id,annotations,subject_data\n1,ann,0,[],{}\n", "Zooniverse"},
      {"mturk.csv", "HITId,AssignmentId,WorkerId,Answer.x\nH,A,w,[]\n", "Mechanical Turk"},
      {"wheat21.csv", "image_name,BoxesString,domain\na.png,1 2 3 4;5 6 7 8,x\n", "Global Wheat"},
      {"rsna.csv", "patientId,x,y,width,height,Target\np0,1,2,3,4,1\n",
       "--format csv --columns image=patientId,class=Target"},
      {"automl.csv", "TRAIN,gs://b/a.png,dog,0.2,0.3,,,0.4,0.6,,\n", "Google's AutoML"},
      {"makesense.csv", "dog,45,34,51,34,a.png,200,100\n", "makesense.ai"},
      {"visdrone.txt", "45,34,51,34,1,2,0,0\n", "VisDrone's text"},
      {"bbox_label_tool.txt", "2\n45 34 96 68 dog\n62 16 115 46 cat\n", "BBox-Label-Tool"},
      {"map.txt", "dog 45 34 96 68\n", "\"class x1 y1 x2 y2\""},
      {"names.txt", "dog 0.1 0.2 0.1 0.2\n", "YOLO's text with names of classes"},
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

TEST(ForeignFormats, AFolderSaysWhatItsTablesLack) {
  const TemporaryFolder folder;
  folder.write("t/ann.csv", "foo,bar,xx\n1,2,3\n");
  const std::string error = error_of([&] { static_cast<void>(read_crowd({folder / "t"})); });
  EXPECT_NE(error.find("expected columns for image, class"), std::string::npos) << error;
}

TEST(ForeignFormats, AFolderSaysSoWhateverTheExtensionsOfItsFiles) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& name, const std::string& text) {
    return error_of(
        [&] { (void)read_crowd({std::filesystem::path(folder.write(name, text)).parent_path().string()}); });
  };
  const std::vector<std::array<std::string, 3>> cases = {
      {"a/crowd.json.gz", "\x1F\x8B\x08", "crowd.json.gz, which looks like a gzip file"},
      {"b/train.odgt", R"({"ID": "1", "gtboxes": []})", "train.odgt, which looks like CrowdHuman's odgt"},
      {"c/a.xml", "\xFF\xFE<", "text in UTF-16; save it as UTF-8"},
      {"d/gt_img_4.txt", "38 43 920 215 \"Tiredness\"\n", "ICDAR's text"},
      {"e/gt_img_3.txt", "38, 43, 920, 215, \"Tiredness\"\n", "ICDAR's text"},
      {"f/a.png", "x", "it holds pictures alone"},
      {"g/labels/1.txt", "2\n45 34 96 68 dog\n", "BBox-Label-Tool"},
      {"h/1.txt", "dog 45 34 96 68\n", "\"class x1 y1 x2 y2\""},
      {"i/1.txt", "45,34,51,34,1,2,0,0\n", "VisDrone's text"},
  };
  for (const auto& [name, text, message] : cases) {
    const std::string found = error(name, text);
    EXPECT_NE(found.find(message), std::string::npos) << found;
  }
  std::filesystem::create_directory(folder / "empty");
  EXPECT_NE(error_of([&] { (void)read_crowd({folder / "empty"}); }).find("it is empty"), std::string::npos);
}

}  // namespace
}  // namespace bdc::test
