// Labels of several annotators in several files: who drew, which images and classes are the same.
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

std::string coco(const std::string& images, const std::string& categories, const std::string& annotations) {
  return "{\"images\": [" + images + "], \"categories\": [" + categories + "], \"annotations\": [" + annotations + "]}";
}

const std::string kPlain =
    coco(R"({"id": 1, "file_name": "a.jpg", "width": 90, "height": 80})", R"({"id": 1, "name": "car"})",
         R"({"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5]})");

const std::string kCvat =
    "<annotations><version>1.1</version><image id=\"0\" name=\"a.jpg\" width=\"90\" height=\"80\">"
    "<box label=\"car\" xtl=\"0\" ytl=\"0\" xbr=\"5\" ybr=\"5\"/></image></annotations>";

const std::string kVoc =
    "<annotation><filename>a.jpg</filename><size><width>90</width><height>80</height></size><object><name>car</name>"
    "<bndbox><xmin>0</xmin><ymin>0</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object></annotation>";

TEST(SeveralFiles, FilesOfOneNameAreToldApartByTheirFolders) {
  const TemporaryFolder folder;
  for (const char* who : {"first", "second"}) {
    const std::string in = std::string(who) + "/";
    folder.write(in + "instances_default.json", kPlain);
    folder.write(in + "annotations.xml", kCvat);
    folder.write(in + "labels/a.txt", "0 0.5 0.5 1 1\n");
    folder.write(in + "images/a.txt", "");
    folder.write(in + "Annotations/a.xml", kVoc);
  }
  folder.write("sizes.csv", "a.jpg,90,80\n");
  ReadOptions options;
  options.sizes_csv = folder / "sizes.csv";
  for (const char* name : {"instances_default.json", "annotations.xml", "labels", "Annotations"}) {
    const Read found =
        read({folder / ("first/" + std::string(name)), folder / ("second/" + std::string(name))}, options);
    EXPECT_EQ(annotators_of(found.data), (Names{"first", "second"})) << name;
    EXPECT_EQ(found.data.images.size(), 1U) << name;
    EXPECT_EQ(found.data.annotations.size(), 2U) << name;
    EXPECT_TRUE(found.notes_have("annotators are named after folders: \"first\", \"second\"")) << name;
  }
}

TEST(SeveralFiles, AFolderOfCvatFilesOfOneNameHasAnAnnotatorPerFolder) {
  const TemporaryFolder folder;
  folder.write("all/ann/annotations.xml", kCvat);
  folder.write("all/bob/annotations.xml", kCvat);
  EXPECT_EQ(annotators_of(read({folder / "all"}).data), (Names{"ann", "bob"}));
}

TEST(SeveralFiles, WhatTellsNobodyApartIsRefused) {
  const TemporaryFolder folder;
  for (const char* file :
       {"one/ann.json", "two/ann.json", "one/bob.json", "a/x/labels.json", "a/y/labels.json", "b/x/labels.json"}) {
    folder.write(file, kPlain);
  }
  const auto error = [&](const Names& names, ReadOptions options = {}) {
    Names paths;
    for (const std::string& name : names) paths.push_back(folder / name);
    return error_of([&] { static_cast<void>(read_crowd(paths, options)); });
  };
  const std::string mixed = error({"one/ann.json", "two/ann.json", "one/bob.json"});
  EXPECT_NE(mixed.find("some of the files have the same name and some have not"), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("--annotator-from file"), std::string::npos) << mixed;
  EXPECT_NE(error({"a/x/labels.json", "a/y/labels.json", "b/x/labels.json"}).find("no single folder tells who drew"),
            std::string::npos);
  EXPECT_NE(error({"one/ann.json", "one/ann.json"}).find("ann.json: is named twice"), std::string::npos);
  ReadOptions by_file, by_folder;
  by_file.annotator_from = AnnotatorFrom::file;
  by_folder.annotator_from = AnnotatorFrom::folder;
  const Names paths = {folder / "one/ann.json", folder / "two/ann.json", folder / "one/bob.json"};
  EXPECT_EQ(annotators_of(read(paths, by_file).data), (Names{"ann", "bob"}));
  EXPECT_EQ(annotators_of(read(paths, by_folder).data), (Names{"one", "two"}));
}

TEST(SeveralFiles, SplitsAreNotAnnotators) {
  const TemporaryFolder folder;
  folder.write("set/train/_annotations.coco.json", kPlain);
  folder.write("set/valid/_annotations.coco.json", kPlain);
  const Read coco_files =
      read({folder / "set/train/_annotations.coco.json", folder / "set/valid/_annotations.coco.json"});
  EXPECT_EQ(annotators_of(coco_files.data), (Names{"set"}));
  EXPECT_TRUE(coco_files.notes_have("are splits of one data set, not annotators"));
}

TEST(SeveralFiles, ListsThatNumberClassesDifferentlyAreRefused) {
  const TemporaryFolder folder;
  folder.write("sizes.csv", "1.jpg,9,9\n");
  ReadOptions options;
  options.sizes_csv = folder / "sizes.csv";
  for (const char* set : {"same", "other", "longer", "yaml"}) {
    const std::string in = std::string(set) + "/";
    const bool yaml = std::string(set) == "yaml";
    folder.write(in + "ann/1.txt", "0 0.5 0.5 1 1\n");
    folder.write(in + "bob/1.txt", "0 0.5 0.5 1 1\n");
    folder.write(in + (yaml ? "ann/data.yaml" : "ann/classes.txt"), yaml ? "names: [a, b]\n" : "a\nb\n");
    folder.write(in + (yaml ? "bob/data.yaml" : "bob/classes.txt"), yaml                           ? "names: [b, a]\n"
                                                                    : std::string(set) == "same"   ? "a\nb\n"
                                                                    : std::string(set) == "longer" ? "a\nb\nc\n"
                                                                                                   : "b\na\n");
  }
  const auto error = [&](const std::vector<std::string>& paths) {
    return error_of([&] { (void)read_crowd(paths, options); });
  };
  EXPECT_EQ(read({folder / "same"}, options).data.classes.size(), 2U);
  EXPECT_EQ(read({folder / "same/ann", folder / "same/bob"}, options).data.classes.size(), 2U);
  for (const char* set : {"other", "yaml"}) {
    const std::string parent = folder / set;
    for (const auto& paths : {std::vector<std::string>{parent}, {parent + "/ann", parent + "/bob"}}) {
      EXPECT_NE(error(paths).find("class 0 is \"a\" there and \"b\" here"), std::string::npos) << error(paths);
    }
  }
  EXPECT_NE(error({folder / "longer"}).find("class 2 is missing there"), std::string::npos)
      << error({folder / "longer"});
  folder.write("names.txt", "x\ny\n");
  options.class_names = folder / "names.txt";
  EXPECT_EQ(read({folder / "other"}, options).data.classes[0].name, "x") << "one list for all was given";
}

TEST(SeveralFiles, ASplitOfDataThatAreNotDividedIsRefused) {
  const TemporaryFolder folder;
  folder.write("plain.json", kPlain);
  ReadOptions options;
  options.split = "val";
  const std::string error = error_of([&] { (void)read_crowd({folder / "plain.json"}, options); });
  EXPECT_NE(error.find("expected data that are divided into splits"), std::string::npos) << error;
}

TEST(SeveralFiles, AYoloFolderOfSplitsIsOneAnnotators) {
  const TemporaryFolder folder;
  int n = 0;
  for (const char* split : {"train", "valid", "test"}) {
    folder.write("set/" + std::string(split) + "/labels/" + std::to_string(++n) + ".txt", "0 0.5 0.5 1 1\n");
  }
  folder.write("set/README.roboflow.txt", "Exported from somewhere.\n");
  folder.write("set/data.yaml", "train: ../train/images\nval: ../valid/images\nnc: 1\nnames: [car]\n");
  folder.write("sizes.csv", "1.jpg,9,9\n2.jpg,9,9\n3.jpg,9,9\n");
  ReadOptions options;
  options.sizes_csv = folder / "sizes.csv";
  const Read all = read({folder / "set"}, options);
  EXPECT_EQ(annotators_of(all.data), (Names{"set"}));
  EXPECT_EQ(all.data.images.size(), 3U);
  EXPECT_TRUE(all.notes_have("test, train, valid are splits"));
  EXPECT_TRUE(all.notes_have("README.roboflow.txt: is not taken for labels"));
  options.split = "train";
  const Read train = read({folder / "set"}, options);
  ASSERT_EQ(train.data.images.size(), 1U);
  EXPECT_EQ(train.data.images[0].id.text, "1");
  options.split = "val";
  EXPECT_EQ(read({folder / "set"}, options).data.images.at(0).id.text, "2");
}

TEST(SeveralFiles, FoldersBelowLabelsThatMayBeAnnotatorsOrImagesAreRefused) {
  const TemporaryFolder folder;
  folder.write("set/labels/ann/1.txt", "0 0.5 0.5 1 1\n");
  folder.write("set/labels/bob/1.txt", "0 0.5 0.5 1 1\n");
  folder.write("sizes.csv", "1.jpg,9,9\n");
  ReadOptions options;
  options.sizes_csv = folder / "sizes.csv";
  const std::string error = error_of([&] { static_cast<void>(read({folder / "set"}, options)); });
  EXPECT_NE(error.find("the folders ann, bob hold files of the same names"), std::string::npos) << error;
  options.annotator_from = AnnotatorFrom::folder;
  EXPECT_EQ(annotators_of(read({folder / "set"}, options).data), (Names{"ann", "bob"}));
  options.annotator_from = AnnotatorFrom::automatic;
  folder.write("set/images/1.jpg", data_text("yolo_images/img_j.jpg"));
  const Read told = read({folder / "set"});
  EXPECT_EQ(annotators_of(told.data), (Names{"ann", "bob"})) << "both label the picture images/1.jpg";
  ASSERT_EQ(told.data.images.size(), 1U);
  EXPECT_EQ(told.data.images[0].width, 44) << "the size comes from the picture";
}

TEST(SeveralFiles, OnePictureUnderTwoIdsIsOneImage) {
  const TemporaryFolder folder;
  const std::string ann =
      folder.write("ann.json", coco(R"({"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"})",
                                    R"({"id": 1, "name": "car"}, {"id": 2, "name": "dog"})",
                                    R"({"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5]})"));
  const std::string bob = folder.write(
      "bob.json",
      coco(R"({"id": 1, "file_name": "set\\b.jpg"}, {"id": 7, "file_name": "a.jpg"}, {"id": 2, "file_name": "c.jpg"})",
           R"({"id": 1, "name": "dog"}, {"id": 2, "name": "cat"})",
           R"({"image_id": 1, "category_id": 1, "bbox": [0, 0, 6, 6]},
                          {"image_id": 7, "category_id": 2, "bbox": [0, 0, 7, 7]})"));
  const Read found = read({ann, bob});
  const CrowdData& data = found.data;
  ASSERT_EQ(data.images.size(), 3U);
  EXPECT_EQ(data.images[0].id.text, "1");
  EXPECT_EQ(data.images[1].id.text, "2");
  EXPECT_EQ(data.images[2].file, "c.jpg");
  EXPECT_EQ(data.images[2].id.text, "8") << "2 is b.jpg";
  EXPECT_EQ(class_names(data), (Names{"car", "dog", "cat"}));
  EXPECT_EQ(data.classes[1].id.text, "2");
  ASSERT_EQ(data.annotations.size(), 3U);
  EXPECT_EQ(data.annotations[1].label, 2) << "bob's cat on a.jpg";
  EXPECT_EQ(data.annotations[1].image, 0);
  EXPECT_EQ(data.annotations[2].image, 1);
  EXPECT_EQ(data.annotations[2].label, 1);
  EXPECT_TRUE(found.notes_have("2 images have different ids in different files and are tied by their names"));
  EXPECT_TRUE(found.notes_have("1 image has a new id"));
  EXPECT_TRUE(found.notes_have("1 class has different ids"));
}

TEST(SeveralFiles, FilesThatAgreeSayNothing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read({folder.write("ann.json", kPlain), folder.write("bob.json", kPlain)}).notes.empty());
}

TEST(SeveralFiles, TwoSizesOfOneImageAreNamed) {
  const TemporaryFolder folder;
  const std::string error = error_of([&] {
    static_cast<void>(read(
        {folder.write("ann.json", kPlain),
         folder.write("bob.json", with(with(kPlain, "\"width\": 90", "\"width\": 91"), "\"id\": 1", "\"id\": 5"))}));
  });
  EXPECT_NE(error.find("image \"a.jpg\" is 91 x 80 here and 90 x 80 before"), std::string::npos) << error;
}

TEST(SeveralFiles, AnImageThatMayBeTwoIsRefused) {
  const TemporaryFolder folder;
  const std::string error = error_of([&] {
    static_cast<void>(
        read({folder.write("ann.json", coco(R"({"id": 1, "file_name": "x/a.jpg"}, {"id": 2, "file_name": "y/a.jpg"})",
                                            R"({"id": 1, "name": "car"})", "")),
              folder.write("bob.json", kPlain)}));
  });
  EXPECT_NE(error.find("image 1 (\"a.jpg\") may be several images by its name"), std::string::npos) << error;
}

TEST(SeveralFiles, LabelStudioProjectsAreTiedWithoutTheUploadPrefix) {
  const auto project = [](const std::string& id, const std::string& image, int who) {
    return R"([{"id": )" + id + R"(, "data": {"image": ")" + image +
           R"("}, "annotations": [{"id": 1, "completed_by": )" + std::to_string(who) +
           R"(, "result": [{"type": "rectanglelabels", "original_width": 100, "original_height": 50, "value":
           {"x": 10, "y": 10, "width": 10, "height": 10, "rectanglelabels": ["car"]}}]}]}])";
  };
  const TemporaryFolder folder;
  const std::string first = folder.write("first.json", project("1", "/data/upload/1/0a1b2c3d-my%20cat.jpg", 1));
  const std::string second = folder.write("second.json", project("1", "/data/upload/2/99887766-my%20cat.jpg", 2));
  const std::string third = folder.write("third.json", project("1", "/data/local-files/?d=pets/other.jpg", 2));
  const Read found = read({first, second, third});
  ASSERT_EQ(found.data.images.size(), 2U);
  EXPECT_EQ(found.data.annotations.size(), 3U);
  EXPECT_EQ(found.data.annotation_begin[1], 2U);
  EXPECT_EQ(found.data.classes.size(), 1U);
}

TEST(SeveralFiles, OneIdForTwoPeopleIsRefused) {
  const TemporaryFolder folder;
  const auto crowd = [](const std::string& name) {
    return with(
        with(kPlain, "\"annotations\"", "\"annotators\": [{\"id\": 1, \"name\": \"" + name + "\"}], \"annotations\""),
        "\"image_id\": 1", "\"image_id\": 1, \"annotator_id\": 1");
  };
  const std::string error = error_of([&] {
    static_cast<void>(read({folder.write("one.json", crowd("ann")), folder.write("two.json", crowd("bob"))}));
  });
  EXPECT_NE(error.find("annotator 1 is named \"bob\" here and \"ann\" before"), std::string::npos) << error;
}

/// A project with three tasks on the same two images.
std::string cvat_project(const std::string& first, const std::string& second) {
  const auto task = [](const std::string& id, const std::string& assignee) {
    return "<task><id>" + id + "</id><name>round " + id + "</name>" +
           (assignee.empty() ? "<assignee></assignee>" : "<assignee><username>" + assignee + "</username></assignee>") +
           "</task>";
  };
  const auto image = [](const std::string& task_id, const std::string& name) {
    return "<image id=\"0\" name=\"" + name + "\" subset=\"default\" task_id=\"" + task_id +
           "\" width=\"90\" height=\"80\"><box label=\"car\" source=\"manual\" occluded=\"0\" xtl=\"1\" ytl=\"1\" "
           "xbr=\"" +
           task_id + "0\" ybr=\"20\" z_order=\"0\"></box></image>";
  };
  return "<annotations><version>1.1</version><meta><project><id>1</id><name>p</name><tasks>" + task("4", first) +
         task("5", second) + "</tasks><labels><label><name>car</name></label></labels></project></meta>" +
         image("4", "a.jpg") + image("5", "a.jpg") + image("5", "b.jpg") + "</annotations>";
}

TEST(SeveralFiles, ACvatProjectHasAnAnnotatorPerAssignee) {
  const CrowdData data = parse(cvat_project("ann", "bob"), "cvat");
  EXPECT_EQ(annotators_of(data), (Names{"ann", "bob"}));
  EXPECT_EQ(data.images.size(), 2U);
  ASSERT_EQ(data.annotations.size(), 3U);
  EXPECT_EQ(data.annotations[1].annotator, 1);
  EXPECT_EQ(data.assignments.size(), 3U);
}

TEST(SeveralFiles, TasksOfACvatProjectWithoutAssigneesAreToldApartByName) {
  EXPECT_EQ(annotators_of(parse(cvat_project("", ""), "cvat")), (Names{"round 4", "round 5"}));
  EXPECT_NE(parse_error(cvat_project("ann", "ann"), "cvat")
                .find("\"a.jpg\" stands twice in this file for the same annotator"),
            std::string::npos);
  ReadOptions options;
  options.annotator_from = AnnotatorFrom::assignee;
  EXPECT_NE(parse_error(cvat_project("ann", ""), "cvat", "in", options).find("expected a task with an assignee"),
            std::string::npos);
}

TEST(SeveralFiles, AFolderOfTwoFormatsIsRefusedUnlessOneIsNamed) {
  const TemporaryFolder folder;
  folder.write("set/labels/a.txt", "0 0.5 0.5 1 1\n");
  folder.write("set/Annotations/a.xml", kVoc);
  folder.write("sizes.csv", "a.jpg,90,80\n");
  ReadOptions options;
  options.sizes_csv = folder / "sizes.csv";
  const std::string error = error_of([&] { static_cast<void>(read_crowd({folder / "set"}, options)); });
  EXPECT_NE(error.find("holds labels of several formats: voc, yolo; name the one to read with --format"),
            std::string::npos)
      << error;
  options.format = "voc";
  EXPECT_EQ(read_crowd({folder / "set"}, options).annotations.size(), 1U);
}

TEST(SeveralFiles, AnnotatorsNamedLikeSplitsAreALossOfFoldersAndListed) {
  CrowdData data;
  data.images = {{{"1", true}, "a.jpg", 90, 80}};
  data.classes = {{{"0", true}, "car"}};
  data.annotators = {{{"train", false}, ""}, {{"test", false}, ""}};
  data.assignments = {{0, 0}, {0, 1}};
  data.assignments_known = true;
  data.finalize();
  const TemporaryFolder folder;
  EXPECT_NE(write_crowd(data, folder / "out", "yolo").text().find("2 annotators named like folders of a data set"),
            std::string::npos);
  EXPECT_EQ(write_crowd(data, folder / "voc", "voc").text().find("named like folders"), std::string::npos)
      << "VOC files name their annotator";
}

TEST(SeveralFiles, FilesAndFoldersNamedAfterSplitsAreNoAnnotators) {
  const TemporaryFolder folder;
  for (const char* file : {"street/instances_train.json", "street/instances_val2017.json", "street/ann_train.json",
                           "street/ann_test.json", "street/bob_test.json"}) {
    folder.write(file, kPlain);
  }
  folder.write("yolo/train_labels/a.txt", "0 0.5 0.5 1 1\n");
  folder.write("yolo/test_labels/b.txt", "0 0.5 0.5 1 1\n");
  folder.write("sizes.csv", "a.jpg,90,80\nb.jpg,90,80\n");
  ReadOptions options;
  options.sizes_csv = folder / "sizes.csv";
  const Read coco = read({folder / "street/instances_train.json", folder / "street/instances_val2017.json"});
  EXPECT_EQ(annotators_of(coco.data), Names{"street"});
  EXPECT_TRUE(coco.notes_have("are splits of one data set, not annotators"));
  EXPECT_EQ(annotators_of(read({folder / "street/ann_train.json", folder / "street/ann_test.json"}).data),
            Names{"street"});
  EXPECT_EQ(annotators_of(read({folder / "street/ann_test.json", folder / "street/bob_test.json"}).data),
            (Names{"ann_test", "bob_test"}));
  EXPECT_EQ(annotators_of(read({folder / "yolo/train_labels", folder / "yolo/test_labels"}, options).data),
            Names{"yolo"});
  EXPECT_EQ(annotators_of(read({folder / "yolo"}, options).data), Names{"yolo"});
}

TEST(SeveralFiles, AMemberThatMayNameAPersonIsTold) {
  std::string annotations;
  for (int n = 0; n < 8; ++n) {
    annotations += std::string(n == 0 ? "" : ", ") + R"({"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], )" +
                   "\"rad_id\": \"R" + std::to_string(n % 2) + "\", \"createdBy\": \"only one\", \"email\": \"e" +
                   std::to_string(n) + "\", \"source\": " + std::to_string(n % 2) + "}";
  }
  const TemporaryFolder folder;
  folder.write("a.json", coco(R"({"id": 1, "file_name": "a.jpg", "width": 90, "height": 80})",
                              R"({"id": 1, "name": "car"})", annotations));
  const Read found = read({folder / "a.json"});
  EXPECT_EQ(annotators_of(found.data), Names{"a"});
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_TRUE(
      found.notes_have("the member \"rad_id\" of the annotations has 2 different values (on 8 of 8 annotations) "
                       "and may say who drew; it is not used. If it does, add --annotator-key rad_id"))
      << found.notes[0];
  ReadOptions options;
  options.annotator_key = "rad_id";
  EXPECT_EQ(annotators_of(read({folder / "a.json"}, options).data), (Names{"R0", "R1"}));
}

TEST(SeveralFiles, OneCvatAssigneeTwiceOnAnImageIsRefused) {
  const std::string by_ann =
      with(kCvat, "<image", "<meta><task><assignee><username>ann</username></assignee></task></meta><image");
  const TemporaryFolder folder;
  folder.write("job_1.xml", by_ann);
  folder.write("job_2.xml", with(by_ann, "a.jpg", "street/a.jpg"));
  folder.write("job_3.xml", with(by_ann, "a.jpg", "b.jpg"));
  const std::string error = error_of([&] {
    static_cast<void>(read_crowd({folder / "job_1.xml", folder / "job_2.xml"}, {}));
  });
  EXPECT_NE(error.find("\"ann\" labelled the image \"a.jpg\" before ("), std::string::npos) << error;
  EXPECT_NE(error.find("would count twice"), std::string::npos) << error;
  EXPECT_EQ(read({folder / "job_1.xml", folder / "job_3.xml"}).data.annotations.size(), 2U);
  ReadOptions options;
  options.annotator_from = AnnotatorFrom::file;
  EXPECT_EQ(read({folder / "job_1.xml", folder / "job_2.xml"}, options).data.annotators.size(), 2U);
}

TEST(SeveralFiles, CvatImagesWithAndWithoutFoldersAreTheSame) {
  const TemporaryFolder folder;
  folder.write("all/ann.xml", kCvat);
  folder.write("all/bob.xml", with(kCvat, "a.jpg", "street/a.jpg"));
  for (const Names& paths : {Names{folder / "all"}, Names{folder / "all/ann.xml", folder / "all/bob.xml"}}) {
    const Read found = read(paths);
    EXPECT_EQ(found.data.images.size(), 1U);
    EXPECT_EQ(found.data.assignments.size(), 2U);
    EXPECT_TRUE(found.notes_have("1 image has different ids in different files and is tied by its name"));
  }
}

TEST(SeveralFiles, NamesThatDifferInSpellingAloneAreTold) {
  const TemporaryFolder folder;
  const auto coco = [&](const std::string& who, const std::string& image, const std::string& label) {
    return folder.write(
        who + ".json",
        R"({"images": [{"id": 1, "file_name": ")" + image +
            R"(", "width": 90, "height": 80}], "categories": [{"id": 1, "name": ")" + label +
            R"("}], "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]})");
  };
  const Read apart = read({coco("ann", "A.JPG", "traffic light"), coco("bob", "a.jpg", "Traffic_Light")});
  EXPECT_EQ(apart.data.images.size(), 2U);
  EXPECT_TRUE(
      apart.notes_have("1 image of another annotator has a name that differs in case or extension alone, such as "
                       "\"A.JPG\" and \"a.jpg\""))
      << apart.all_notes();
  EXPECT_TRUE(
      apart.notes_have("1 class is written in several ways that differ in case or blanks alone, such as "
                       "\"traffic light\" and \"Traffic_Light\""))
      << apart.all_notes();
  EXPECT_EQ(read({coco("ann", "a.jpg", "cat"), coco("bob", "a.jpg", "cat")}).all_notes(), "");
}

}  // namespace
}  // namespace bdc::test
