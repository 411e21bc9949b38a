/**
 * Generates the sandbox's clips and images with ffmpeg: `node scripts/make-sandbox-media.ts`. Only needed to change
 * them: the results are committed, so that the sandbox works without ffmpeg.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../src/sandbox/media/', import.meta.url));
const H264 = '-c:v libx264 -profile:v main -pix_fmt yuv420p -crf 30 -preset veryslow -movflags +faststart'.split(' ');
const AAC = '-c:a aac -b:a 48k -shortest'.split(' ');

/** A moving pattern that compresses well, differs per shape, and visibly plays. */
const video = (size: string, seconds: number, hue: number): string[] => [
  '-f',
  'lavfi',
  '-i',
  `testsrc2=size=${size}:rate=24:duration=${seconds},hue=h=${hue}`,
];
const still = (size: string): string[] => [...video(size, 1, 200), '-frames:v', '1'];

const FILES: readonly (readonly [name: string, args: readonly string[]])[] = [
  ['wide.mp4', [...video('320x180', 5, 0), ...H264]],
  ['tall.mp4', [...video('180x320', 5, 90), ...H264]],
  ['square.mp4', [...video('240x240', 5, 180), ...H264]],
  [
    'wide-audio.mp4',
    [...video('320x180', 4, 270), '-f', 'lavfi', '-i', 'sine=frequency=440:duration=4', ...H264, ...AAC],
  ],
  ['thumbnail.webp', still('320x180')],
  ['spritesheet.jpg', [...video('160x90', 5, 200), '-vf', 'fps=2,tile=5x2', '-frames:v', '1', '-q:v', '8']],
  ['image.png', still('320x320')],
];

mkdirSync(folder, { recursive: true });
for (const [name, args] of FILES) {
  const path = `${folder}${name}`;
  const run = spawnSync('ffmpeg', [
    '-loglevel',
    'error',
    '-y',
    ...args,
    '-map_metadata',
    '-1',
    '-fflags',
    '+bitexact',
    path,
  ]);
  if (run.status !== 0) throw new Error(`ffmpeg could not make ${name}: ${run.stderr}`);
  console.log(`${name}: ${statSync(path).size} bytes`);
}
