/**
 * Media types by the first bytes of a file, as they read in Base64, so that nothing has to be decoded. SVG is not among them:
 * it can carry scripts.
 */
const FILE_SIGNATURES: readonly { readonly base64: RegExp; readonly mimeType: string }[] = [
  { base64: /^iVBORw0KGg/, mimeType: 'image/png' },
  { base64: /^\/9j\//, mimeType: 'image/jpeg' },
  { base64: /^UklGR/, mimeType: 'image/webp' },
  { base64: /^R0lGOD/, mimeType: 'image/gif' },
  { base64: /^Qk/, mimeType: 'image/bmp' },
  { base64: /^(SUkq|TU0A)/, mimeType: 'image/tiff' },
  { base64: /^AAAA.{6,8}(ZnR5c|Z0eX|mdHlw)/, mimeType: 'video/mp4' },
];

/** The media type of a file given as Base64; undefined for an unknown one. Reads the first 32 characters only. */
export function detectMediaType(base64: string): string | undefined {
  const head = base64.slice(0, 32);
  return FILE_SIGNATURES.find(({ base64: pattern }) => pattern.test(head))?.mimeType;
}
