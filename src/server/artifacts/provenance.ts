import type { Static } from 'typebox';
import type { Provenance as ProvenanceSchema } from '../../contract/video.ts';
import { checkManifest, type FileBox, type ManifestCheck, type VideoFile } from './check-manifest.ts';

/** Marks of generated content that a video file carries about itself. */
export type Provenance = Static<typeof ProvenanceSchema>;

/** `uuid` of the box with a manifest (C2PA specification, "Embedding manifests into BMFF-based assets"). */
const C2PA_UUID = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');
/** Size, type, large size and `uuid` of a box. */
const HEADER_BYTES = 32;
/** A manifest and the metadata are in front of the media, or in the last boxes of a short file. */
const MAX_BOXES = 64;
/** Metadata is at the end of `moov`, whose tables grow with the length of the video. */
const MAX_MOVIE_BYTES = 4 * 1024 * 1024;
const MAX_MANIFEST_BYTES = 16 * 1024 * 1024;
const AIGC_KEY = Buffer.from('AIGC');
/** Version, flags, the word `manifest` and the offset of further boxes, in front of the manifest store. */
const MANIFEST_PREFIX = Buffer.from('\0\0\0\0manifest\0');
const OFFSET_BYTES = 8;

/** Finds the marks in the boxes of an MP4 file, and checks whether its C2PA manifest belongs to it. */
export async function findProvenance(file: VideoFile): Promise<Provenance> {
  const boxes: FileBox[] = [];
  let manifest: (FileBox & { readonly content: number }) | undefined;
  let aigc = false;
  let at = 0;
  while (at + 8 <= file.bytes && boxes.length < MAX_BOXES) {
    const header = await file.read(at, Math.min(at + HEADER_BYTES, file.bytes) - 1);
    const size = sizeOf(header, file.bytes - at);
    if (size === undefined) break;
    const box = { type: header.toString('latin1', 4, 8), start: at, size };
    boxes.push(box);
    const content = headerLengthOf(header);
    if (box.type === 'uuid' && header.indexOf(C2PA_UUID) === content)
      manifest ??= { ...box, content: at + content + C2PA_UUID.length };
    if (box.type === 'moov')
      aigc ||= (await file.read(Math.max(at, at + size - MAX_MOVIE_BYTES), at + size - 1)).includes(AIGC_KEY);
    at += size;
  }
  if (manifest === undefined) return { c2pa: 'absent', signer: '', aigc };
  const isComplete = at === file.bytes;
  const { state, signer } = isComplete ? await checkBox(file, manifest, boxes) : UNCHECKED;
  return { c2pa: state, signer, aigc };
}

const UNCHECKED: ManifestCheck = { state: 'present', signer: '' };

async function checkBox(
  file: VideoFile,
  { start, size, content }: FileBox & { readonly content: number },
  boxes: readonly FileBox[],
): Promise<ManifestCheck> {
  if (size > MAX_MANIFEST_BYTES) return UNCHECKED;
  const bytes = await file.read(content, start + size - 1);
  const isStore = bytes.subarray(0, MANIFEST_PREFIX.length).equals(MANIFEST_PREFIX);
  return isStore ? checkManifest(bytes.subarray(MANIFEST_PREFIX.length + OFFSET_BYTES), file, boxes) : UNCHECKED;
}

const headerLengthOf = (header: Buffer): number => (header.readUInt32BE(0) === 1 ? 16 : 8);

/** Size of a box; undefined for one that does not fit into the `left` bytes. */
function sizeOf(header: Buffer, left: number): number | undefined {
  if (header.length < 8) return undefined;
  const short = header.readUInt32BE(0);
  if (short === 1 && header.length < 16) return undefined;
  const size = short === 0 ? left : short === 1 ? Number(header.readBigUInt64BE(8)) : short;
  return size >= headerLengthOf(header) && size <= left ? size : undefined;
}
