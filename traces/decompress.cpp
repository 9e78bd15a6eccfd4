// Boost's decompressors throw at a truncated gzip or xz file when they are read through the stream
// buffer; read through an istream they would only set badbit. The Zstandard filter follows the
// symmetric filter protocol: consume, produce, and return false once the input is at its end.
#include "traces/decompress.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/symmetric.hpp>
#include <cstddef>
#include <memory>
#include <stdexcept>

#include "traces/error.hpp"

namespace refrain {

namespace {

class zstd_unpacker {
 public:
  using char_type = char;

  // A header of a few bytes may ask for a window of 2 GiB; 128 MiB is what --long makes.
  zstd_unpacker() { ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, 27); }

  bool filter(const char*& from, const char* from_end, char*& to, char* to_end, bool is_last) {
    ZSTD_inBuffer in{from, static_cast<std::size_t>(from_end - from), 0};
    ZSTD_outBuffer out{to, static_cast<std::size_t>(to_end - to), 0};
    std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
    if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge) {
      throw window_too_large{};
    }
    if (ZSTD_isError(left)) {
      throw std::runtime_error{ZSTD_getErrorName(left)};
    }
    from += in.pos;
    to += out.pos;
    if (in.pos > 0 || out.pos > 0) {
      frame_is_open_ = left != 0;
    }
    if (!is_last || from != from_end || out.pos == out.size) {
      return true;
    }
    if (frame_is_open_) {
      throw std::runtime_error{"the last frame is not complete"};
    }
    return false;
  }

  void close() {}

 private:
  struct closer {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, closer> stream_{ZSTD_createDStream()};
  bool frame_is_open_ = false;
};

using zstd_filter = boost::iostreams::symmetric_filter<zstd_unpacker>;

bool is_zstd(std::string_view bytes) {
  using namespace std::string_view_literals;
  bool skippable = bytes.size() >= 4 && bytes.substr(1, 3) == "\x2A\x4D\x18"sv &&
                   (static_cast<unsigned char>(bytes[0]) & 0xF0) == 0x50;
  return skippable || bytes.starts_with("\x28\xB5\x2F\xFD"sv);
}

}  // namespace

packing packing_of(std::string_view first_bytes) {
  using namespace std::string_view_literals;
  // The third byte (deflate, the only method there is) keeps binary traces from looking like gzip.
  if (first_bytes.starts_with("\x1F\x8B\x08"sv)) {
    return packing::gzip;
  }
  if (first_bytes.starts_with("\xFD\x37\x7A\x58\x5A\x00"sv)) {
    return packing::xz;
  }
  if (is_zstd(first_bytes)) {
    return packing::zstd;
  }
  return first_bytes.starts_with("BZh"sv) ? packing::bzip2 : packing::plain;
}

std::string_view packing_name(packing kind) {
  switch (kind) {
    case packing::gzip:
      return "gzip";
    case packing::xz:
      return "xz";
    case packing::zstd:
      return "zstd";
    case packing::bzip2:
      return "bzip2";
    case packing::plain:
      break;
  }
  return "plain";
}

void push_unpacker(boost::iostreams::filtering_streambuf<boost::iostreams::input>& chain,
                   packing kind, std::streamsize buffer_bytes) {
  namespace io = boost::iostreams;
  REFRAIN_ASSERT(kind != packing::bzip2);
  if (kind == packing::gzip) {
    chain.push(io::gzip_decompressor{io::zlib::default_window_bits, buffer_bytes}, buffer_bytes);
  } else if (kind == packing::xz) {
    chain.push(io::lzma_decompressor{buffer_bytes}, buffer_bytes);
  } else if (kind == packing::zstd) {
    chain.push(zstd_filter{buffer_bytes}, buffer_bytes);
  }
}

}  // namespace refrain
