#pragma once

#include <string>
#include <vector>

#include "crowd/format.h"

namespace bdc {

/// A file with the labels of one image.
struct LabelFile {
  std::string path;
  std::string image;  ///< the image's name without extension; with folders where names alone do not differ
};

struct AnnotatorFiles {
  std::string annotator;
  std::vector<LabelFile> files;
};

/// Divides the label files below a folder among annotators. Folders that lie beside each other, at any depth, and hold
/// files of the same names are annotators', unless the pictures tell that the folders belong to the images' names.
/// Where no folders share names, a folder of the folder is an annotator's, unless label files lie in the folder itself,
/// or its folders are "labels", "Annotations" and the like, or splits (train, valid, test): then all are by one, whom
/// the path names, as all are with options.annotator. Keeps the files of options.split where there are splits. Throws
/// DataError when folders below "labels" may be annotators' or parts of images' names and nothing tells which, and for
/// files that lie beside annotators' folders.
[[nodiscard]] std::vector<AnnotatorFiles> label_tree(const std::string& folder, const std::vector<std::string>& files,
                                                     ReadContext& context);

/// What is wrong when files in a folder that is called like a picture are labels of that picture, each by another
/// person (a/ann.xml, a/bob.xml of a.jpg), and would be read as the annotator "a" with the images "ann" and "bob";
/// empty when nothing is. picture: as the file names it.
[[nodiscard]] std::string folder_of_image(const std::string& picture, const std::string& image_name,
                                          const std::string& annotator);

/// A folder that says what is in it and not whose: "labels", "Annotations" and the like.
[[nodiscard]] bool means_labels(const std::string& folder);

/// Pictures that Roboflow exported for several annotators have a name in each export (cat_jpg.rf.<hash>): gives those
/// of `names`, which are all of one annotator's, the names that an annotator before has them under.
void tie_versions(const std::string& annotator, const std::vector<std::string*>& names, ReadContext& context);

/// For writers with a folder per annotator: annotators who are all named like folders of a data set (labels, train,
/// test) read back as one.
void add_folder_name_loss(const CrowdData& data, WriteReport& report);

/// Text files that lie beside labels and hold none: classes.txt, train.txt, README.roboflow.txt, LICENSE.txt, ...
[[nodiscard]] bool is_no_label_file(const std::string& path);

}  // namespace bdc
