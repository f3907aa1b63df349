// Metadata of ImageJ, OME and MicroManager: reliable pixel sizes, and unreliable ones.
// SPDX-License-Identifier: MIT
#include "io/tiff/metadata.hpp"

#include <gtest/gtest.h>

#include "io/micromanager.hpp"
#include "tests/thorough.hpp"

using namespace glint;

namespace {

std::optional<double> imagej_nm(const std::string& lines, double x = 10, double y = 10) {
    return read_imagej_description("ImageJ=1.54\nimages=3\n" + lines, x, y).pixel_size_nm;
}

TiffMetadata ome(const std::string& attributes) {
    return read_ome_description("<?xml version=\"1.0\"?><OME xmlns=\"x\"><Image><Pixels ID=\"a\" " + attributes +
                                    " SizeX=\"4\"><TiffData/></Pixels></Image></OME>",
                                "a.tif");
}

}  // namespace

TEST(TiffMetadata, imagej_units) {
    for (const char* unit : {"um", "micron", "microns", "\xc2\xb5m", "\xce\xbcm", "\xb5m", "\\u00B5m"})
        EXPECT_EQ(imagej_nm(std::string("unit=") + unit + "\nloop=false"), 100) << unit;
    EXPECT_EQ(imagej_nm("unit=nm\r\n", 1 / 65.0, 1 / 65.0), 65);
    EXPECT_EQ(imagej_nm("unit=mm\n", 1e4, 1e4), 100);
    for (const char* unit : {"cm", "inch", "pixel", "", "sec", "\\u03BC"})
        EXPECT_FALSE(imagej_nm(std::string("unit=") + unit)) << unit;
    EXPECT_FALSE(imagej_nm("", 10, 10)) << "a resolution without a unit";
}

TEST(TiffMetadata, imagej_sizes_that_no_camera_pixel_has) {
    EXPECT_FALSE(imagej_nm("unit=um", 0, 0));
    EXPECT_FALSE(imagej_nm("unit=um", -10, -10));
    EXPECT_FALSE(imagej_nm("unit=um", 1e9, 1e9));
    EXPECT_FALSE(imagej_nm("unit=mm", 1, 1));
    EXPECT_FALSE(imagej_nm("unit=um\nyunit=pixel"));
    const auto oblong = read_imagej_description("unit=um\n", 10, 5);
    EXPECT_FALSE(oblong.pixel_size_nm);
    ASSERT_EQ(oblong.warnings.size(), 1u);
    EXPECT_NE(oblong.warnings[0].find("100 by 200 nm"), std::string::npos);
}

TEST(TiffMetadata, imagej_images_and_channels) {
    EXPECT_EQ(read_imagej_description("ImageJ=1\nimages=400\n", 0, 0).images, 400);
    EXPECT_EQ(read_imagej_description("ImageJ=1\nimages=-4\n", 0, 0).images, 0);
    EXPECT_EQ(read_imagej_description("ImageJ=1\nimages=1e300\n", 0, 0).images, 0);
    EXPECT_TRUE(read_imagej_description("images=7\nchannels=7", 0, 0).axes.empty()) << "they are the frames";
    const auto two = read_imagej_description("images=8\nchannels=2\nframes=4", 0, 0);
    EXPECT_EQ(count_of(two.axes), 8);
    EXPECT_EQ(two.axes.front().dimension, Dimension::time);
    EXPECT_EQ(two.axes.back().dimension, Dimension::channel);
}

TEST(TiffMetadata, ome_sizes) {
    EXPECT_EQ(ome("PhysicalSizeX=\"0.1\" PhysicalSizeY=\"0.1\"").pixel_size_nm, 100);
    EXPECT_EQ(ome("PhysicalSizeX='65' PhysicalSizeXUnit='nm'").pixel_size_nm, 65);
    EXPECT_EQ(ome("PhysicalSizeX=\"0.1\" PhysicalSizeXUnit=\"\xc2\xb5m\"").pixel_size_nm, 100);
    EXPECT_FALSE(ome("PhysicalSizeX=\"0.1\" PhysicalSizeXUnit=\"pixel\"").pixel_size_nm);
    EXPECT_FALSE(ome("PhysicalSizeX=\"0.0\"").pixel_size_nm);
    EXPECT_FALSE(ome("PhysicalSizeZ=\"0.1\"").pixel_size_nm);
    EXPECT_FALSE(ome("PhysicalSizeX=\"0.1").pixel_size_nm);
    const auto axes = ome("DimensionOrder=\"XYZCT\" SizeC=\"2\" SizeT=\"9\"").axes;
    EXPECT_EQ(count_of(axes), 18);
    ASSERT_EQ(axes.size(), 4u);
    EXPECT_EQ(axes[1].dimension, Dimension::time);
    EXPECT_EQ(axes[2].dimension, Dimension::channel);
    EXPECT_TRUE(ome("DimensionOrder=\"XYZCT\" SizeC=\"9\" SizeT=\"1\" SizeZ=\"1\"").axes.empty());
    EXPECT_EQ(read_ome_description("<ome:OME><ome:Pixels PhysicalSizeX=\"0.2\"/></ome:OME>", "a.tif").pixel_size_nm,
              200);
    EXPECT_EQ(ome("PhysicalSizeX='1e-7' PhysicalSizeXUnit='m'").pixel_size_nm, 100);
    EXPECT_EQ(ome("PhysicalSizeX='1000' PhysicalSizeXUnit='\xc3\x85'").pixel_size_nm, 100);
}

TEST(TiffMetadata, micromanager_json) {
    const auto facts = read_micromanager("{\"PixelSizeUm\": 0.108, \"Camera\": \"x\", \"Exposure-ms\": 12.5}");
    EXPECT_EQ(facts.pixel_size_nm, 108);
    EXPECT_EQ(facts.exposure_ms, 12.5);
    EXPECT_EQ(facts.camera, "x");
    for (const char* nothing : {"{\"PixelSizeUm\": 0, \"Exposure-ms\": 0}", "{\"PixelSizeUm\": \"0.1\", \"Camera\": 3}",
                                "{\"PixelSizeUm\": 0.1", "", "[1]"}) {
        EXPECT_FALSE(read_micromanager(nothing).pixel_size_nm) << nothing;
        EXPECT_FALSE(read_micromanager(nothing).exposure_ms) << nothing;
        EXPECT_EQ(read_micromanager(nothing).camera, "") << nothing;
    }
    EXPECT_EQ(micromanager_channels("{\"ChNames\": [\"Cy3\", 4]}"), (std::vector<std::string>{"Cy3", ""}));
    EXPECT_TRUE(micromanager_channels("{\"ChNames\": 4}").empty());
}

TEST(TiffMetadata, exposures) {
    const auto of_planes = [](const std::string& planes) {
        return read_ome_description("<OME><Image><Pixels SizeT='2'>" + planes + "</Pixels></Image></OME>", "a.tif")
            .exposure_ms;
    };
    EXPECT_EQ(of_planes("<Plane ExposureTime='0.02'/><Plane ExposureTime='0.02' ExposureTimeUnit='s'/>"), 20);
    EXPECT_EQ(of_planes("<Plane ExposureTime='20' ExposureTimeUnit='ms'/>"), 20);
    EXPECT_EQ(of_planes("<Plane ExposureTime='20' ExposureTimeUnit='\xc2\xb5s'/>"), 0.02);
    for (const char* none :
         {"<Plane/>", "<Plane ExposureTime='0'/>", "<Plane ExposureTime='20' ExposureTimeUnit='fortnight'/>",
          "<Plane ExposureTime='20'/><Plane ExposureTime='30'/>"})
        EXPECT_FALSE(of_planes(none)) << none;
    EXPECT_EQ(exposure_ms_in_info("x\n\"Exposure-ms\": 20.5,\n"), 20.5);
    EXPECT_EQ(exposure_ms_in_info("Exposure-ms = 20"), 20);
    EXPECT_EQ(exposure_ms_in_info("Exposure: 0.5 s\n"), 500);
    for (const char* none : {"Exposure-ms", "Exposure-ms: x", "Exposure: 3", ""})
        EXPECT_FALSE(exposure_ms_in_info(none)) << none;
}

// Each byte is visited once. In quadratic time, this text would take days.
TEST(TiffMetadata, a_text_of_nothing_but_tags) {
    for (const char* piece : {"<", "<a", "<:", "<Pixels", "<UUID FileName=\"a\">", "<Pixels a=\"", "&amp"}) {
        std::string text = "<OME ";
        while (text.size() < std::size_t(test::sample(10'000'000))) text += piece;
        EXPECT_FALSE(read_ome_description(text, "a.tif").pixel_size_nm) << piece;
    }
}
