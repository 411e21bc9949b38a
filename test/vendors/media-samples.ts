const uint = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const box = (type: string, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat([...parts]);
  return Buffer.concat([uint(8 + body.length), Buffer.from(type), body]);
};

/** An MP4 file whose samples last this long, with unused bytes; it has no picture. */
export function mp4Of(seconds: number, padding = 0): Buffer {
  const mdhd = box('mdhd', uint(0), uint(0), uint(0), uint(1_000), uint(0), uint(0));
  const stts = box('stts', uint(0), uint(1), uint(seconds), uint(1_000));
  const trak = box('trak', box('mdia', mdhd, box('minf', box('stbl', stts))));
  return Buffer.concat([
    box('ftyp', Buffer.from('isom'), uint(0), Buffer.from('isom')),
    box('moov', trak),
    box('mdat', Buffer.alloc(padding)),
  ]);
}

/** Silence. */
export function wavOf(seconds: number): Buffer {
  const data = Buffer.alloc(8_000 * seconds, 128);
  const header = Buffer.alloc(44);
  header.write('RIFF');
  header.writeUInt32LE(36 + data.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8_000, 24);
  header.writeUInt32LE(8_000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(data.length, 40);
  return Buffer.concat([header, data]);
}
