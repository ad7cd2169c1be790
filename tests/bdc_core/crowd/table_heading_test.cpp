// Tables of boxes with the titles that people give them.
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

Read read_table(const std::string& text) {
  const TemporaryFolder folder;
  return read({folder.write("all.csv", text)});
}

TEST(TableHeading, CommonTitlesAreKnown) {
  const char* tables[] = {
      "image,class,x0,y0,x1,y1\na.png,cat,10,20,40,60\n",
      "image,class,left,top,width,height\na.png,cat,10,20,30,40\n",
      "image,class,bbox_x,bbox_y,bbox_w,bbox_h\na.png,cat,10,20,30,40\n",
      "image,class,minx,maxx,miny,maxy\na.png,cat,10,40,20,60\n",
      "Image,Class,X Min,Y Min,X Max,Y Max\na.png,cat,10,20,40,60\n",
      "image,label,x_center,y_center,width,height\na.png,cat,25,40,30,40\n",
      "image|class|x1|y1|x2|y2\na.png|cat|10|20|40|60\n",
      "# exported, by a tool\nimage,class,x1,y1,x2,y2\na.png,cat,10,20,40,60\n",
      "img,object,xmin,ymin,w,h,img_width,img_height\na.png,cat,10,20,30,40,200,100\n",
  };
  for (const char* text : tables) {
    const Read found = read_table(text);
    ASSERT_EQ(found.data.annotations.size(), 1U) << text;
    EXPECT_EQ(found.data.annotations[0].box, (Box{10, 20, 40, 60})) << text;
    EXPECT_EQ(found.data.classes.at(0).name, "cat") << text;
  }
}

TEST(TableHeading, UsualTitlesComeBeforeRareOnes) {
  const CrowdData data = read_table("image,photo,class,tag,x1,y1,x2,y2,x0\na.png,p,cat,t,10,20,40,60,7\n").data;
  EXPECT_EQ(data.images.at(0).file, "a.png");
  EXPECT_EQ(data.classes.at(0).name, "cat");
  EXPECT_EQ(data.annotations.at(0).box, (Box{10, 20, 40, 60}));
}

TEST(TableHeading, WidthAndHeightOfTheBoxAreNotTheImages) {
  const Read found =
      read_table("image,class,x1,y1,x2,y2,width,height\na.png,cat,10,20,40,60,30,40\na.png,cat,5,5,25,25,20,20\n");
  EXPECT_EQ(found.data.images.at(0).width, 0);
  EXPECT_TRUE(found.notes_have("are the boxes', as their corners tell")) << found.all_notes();
  const CrowdData images = read_table("image,class,x1,y1,x2,y2,width,height\na.png,cat,10,20,40,60,200,100\n").data;
  EXPECT_EQ(images.images.at(0).width, 200);
  const CrowdData whole = read_table("image,class,x1,y1,x2,y2,width,height\na.png,cat,0,0,200,100,200,100\n").data;
  EXPECT_EQ(whole.images.at(0).width, 200) << "a box around the whole image";
}

TEST(TableHeading, SizesThatContradictNameTheirColumns) {
  const std::string error = parse_error(
      "image,class,x1,y1,x2,y2,width,height\na.png,cat,10,20,40,60,90,90\na.png,cat,5,5,25,25,91,90\n", "csv");
  EXPECT_NE(error.find("by the columns \"width\" and \"height\""), std::string::npos) << error;
}

}  // namespace
}  // namespace bdc::test
