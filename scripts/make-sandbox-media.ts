/**
 * Renders the sandbox's clips and images: `node scripts/make-sandbox-media.ts [clip…]`. Scenes are shaders
 * (`sandbox-scenes.glsl`) drawn by Chromium without a GPU, encoded by ffmpeg. Only needed to change them: the results
 * are committed, so that the sandbox works without either.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { CLIP_NAMES } from '../src/sandbox/media.ts';
import { chromiumPath } from '../test/browser/chromium.ts';

const FOLDER = fileURLToPath(new URL('../src/sandbox/media/', import.meta.url));
const SHADER = readFileSync(new URL('./sandbox-scenes.glsl', import.meta.url), 'utf8');
const SECONDS = 5;
/** Fast scenes need more frames a second to look smooth; the others would only grow. */
const FAST_SCENES = ['sea', 'city', 'street', 'road'];
const SIZE = [480, 270] as const;
/** Clips of other shapes are the middle of a wide one, by the variant in their name. */
const SHAPES: Readonly<Record<string, { readonly size: readonly [number, number]; readonly crop: string }>> = {
  tall: { size: [270, 480], crop: 'crop=152:270,scale=270:480:flags=lanczos' },
  square: { size: [320, 320], crop: 'crop=270:270,scale=320:320:flags=lanczos' },
};
/** Ambient sound of each scene: an ffmpeg source with its filters. */
const SOUNDS: Readonly<Record<string, string>> = {
  sea: 'anoisesrc=color=brown:seed=1:amplitude=0.5,tremolo=f=0.25:d=0.8',
  street: 'anoisesrc=color=pink:seed=2:amplitude=0.14,highpass=f=900',
  forest: 'anoisesrc=color=pink:seed=3:amplitude=0.06,lowpass=f=3000',
  city: 'anoisesrc=color=brown:seed=6:amplitude=0.3,lowpass=f=400',
  road: 'anoisesrc=color=brown:seed=7:amplitude=0.6,lowpass=f=260,tremolo=f=11:d=0.2',
  silk: 'aevalsrc=0.06*sin(2*PI*110*t)+0.05*sin(2*PI*165*t)+0.04*sin(2*PI*220.6*t)*sin(0.9*t)',
  planet: 'aevalsrc=0.08*sin(2*PI*55*t)+0.05*sin(2*PI*82.5*t)+0.03*sin(2*PI*164.4*t)*sin(1.2*t)',
  portrait: 'aevalsrc=0.05*sin(2*PI*130.8*t)+0.05*sin(2*PI*196*t)+0.03*sin(2*PI*261.6*t)*sin(1.2*t)',
};
const WIND = 'anoisesrc=color=brown:seed=9:amplitude=0.4,lowpass=f=500,tremolo=f=0.2:d=0.6';

async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  const browser = await chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
  });
  try {
    const page = await browser.newPage();
    const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);
    for (const name of CLIP_NAMES.filter(isWanted)) {
      const [, variant = ''] = name.split('-');
      if (SHAPES[variant] !== undefined) await makeShaped(page, name);
      else if (!DERIVED_VARIANTS.includes(variant)) await makeClips(page, name);
    }
    makeImages();
  } finally {
    await browser.close();
  }
}

/** Renders a look, and derives another from it: mirrored, closer, and with another grade. */
async function makeClips(page: Page, name: string): Promise<void> {
  const [scene = '', variant = ''] = name.split('-');
  const [width, height] = SIZE;
  const fps = FAST_SCENES.includes(scene) ? 20 : 16;
  const look = Number(variant) - 1;
  const shader = SHADER.replace('\n', `\n#define SCENE ${scene}\n`);
  await page.evaluate(`(${START_SCENE})(${JSON.stringify({ shader, width, height, look })})`);
  const mark = await drawMark(page, width, height);
  const derived = DERIVED_GRADES[variant];
  const encode = (path: string): readonly string[] => [
    ...'-map 1:a -c:v libx264 -profile:v main -pix_fmt yuv420p -crf 29 -preset veryslow -g 250'.split(' '),
    ...`-c:a aac -ac 1 -ar 44100 -b:a 32k -t ${SECONDS} -movflags +faststart -map_metadata -1`.split(' '),
    ...'-fflags +bitexact -flags:v +bitexact -flags:a +bitexact'.split(' '),
    path,
  ];
  const paths = [`${FOLDER}${name}.mp4`, ...(derived ? [`${FOLDER}${scene}-${derived.variant}.mp4`] : [])];
  const other = derived
    ? `;[b]hflip,crop=iw*0.92:ih*0.92,scale=${width}:${height},${derived.grade}[g];[g][m2]overlay[y]`
    : '';
  const graph = derived ? `[0:v]split[a][b];[2:v]split[m1][m2];[a][m1]overlay[x]${other}` : '[0:v][2:v]overlay[x]';
  const encoder = spawn(
    'ffmpeg',
    [
      ...`-loglevel error -y -f rawvideo -pix_fmt rgba -s ${width}x${height} -r ${fps} -i - -f lavfi -i`.split(' '),
      `${SOUNDS[scene] ?? WIND},afade=t=in:d=0.3,afade=t=out:st=${SECONDS - 0.5}:d=0.5`,
      ...['-i', mark, '-filter_complex', graph],
      ...paths.flatMap((path, index) => ['-map', index === 0 ? '[x]' : '[y]', ...encode(path)]),
    ],
    { stdio: ['pipe', 'inherit', 'inherit'] },
  );
  const ended = once(encoder, 'close');
  for (let frame = 0; frame < fps * SECONDS; frame += 1) {
    const base64 = String(await page.evaluate(`drawFrame(${frame / (fps * SECONDS)})`));
    if (!encoder.stdin.write(Buffer.from(base64, 'base64'))) await once(encoder.stdin, 'drain');
  }
  encoder.stdin.end();
  const [status] = await ended;
  if (status !== 0) throw new Error(`ffmpeg could not encode ${name}`);
  for (const path of paths) {
    makeStill(path, [...'-ss 1 -frames:v 1 -c:v libwebp -quality 70'.split(' '), path.replace('.mp4', '.webp')]);
    console.log(`${basename(path)}: ${statSync(path).size} bytes`);
  }
}

/** Cuts a clip of another shape out of the wide one in the same look. */
async function makeShaped(page: Page, name: string): Promise<void> {
  const [scene = '', variant = '', look = ''] = name.split('-');
  const { size, crop } = SHAPES[variant] ?? { size: SIZE, crop: 'null' };
  const mark = await drawMark(page, ...size);
  const [source, path] = [`${FOLDER}${scene}-${look}.mp4`, `${FOLDER}${name}.mp4`];
  makeStill(source, [
    ...['-i', mark, '-filter_complex', `[0:v]${crop}[v];[v][1:v]overlay[x]`, '-map', '[x]', '-map', '0:a'],
    ...'-c:v libx264 -profile:v main -pix_fmt yuv420p -crf 30 -preset veryslow -g 250 -c:a copy'.split(' '),
    ...'-movflags +faststart -map_metadata -1 -fflags +bitexact -flags:v +bitexact'.split(' '),
    path,
  ]);
  makeStill(path, [...'-ss 1 -frames:v 1 -c:v libwebp -quality 70'.split(' '), path.replace('.mp4', '.webp')]);
  console.log(`${basename(path)}: ${statSync(path).size} bytes`);
}

/** The path of an image with the mark of simulated clips in its corner. */
async function drawMark(page: Page, width: number, height: number): Promise<string> {
  const path = join(tmpdir(), `simulated-${width}.png`);
  const base64 = String(await page.evaluate(`(${DRAW_MARK})(${width}, ${height})`));
  writeFileSync(path, Buffer.from(base64, 'base64'));
  return path;
}

/** Pictures that vendors and image models return beside clips. */
function makeImages(): void {
  const [sprites, image] = [`${FOLDER}spritesheet.jpg`, `${FOLDER}image.png`];
  makeStill(`${FOLDER}sea-2.mp4`, ['-vf', 'fps=2,scale=160:90,tile=5x2', '-frames:v', '1', '-q:v', '8', sprites]);
  const palette = 'crop=270:270,scale=320:320,split[a][b];[a]palettegen=max_colors=24[p];[b][p]paletteuse=dither=none';
  makeStill(`${FOLDER}sea-2.mp4`, ['-ss', '1', '-frames:v', '1', '-vf', palette, image]);
}

function makeStill(clip: string, args: readonly string[]): void {
  const run = spawnSync('ffmpeg', ['-loglevel', 'error', '-y', '-i', clip, ...args]);
  if (run.status !== 0) throw new Error(`ffmpeg could not make a still of ${clip}: ${run.stderr}`);
}

/** The looks derived from rendered ones, by the variant in the name. */
const DERIVED_GRADES: Readonly<Record<string, { readonly variant: string; readonly grade: string }>> = {
  '1': { variant: '3', grade: 'hue=h=-38:s=1.05,eq=contrast=1.04' },
  '2': { variant: '4', grade: 'hue=h=-34:s=0.85,colorbalance=rh=.10:bh=-.10:rs=-.04:gs=.03' },
};

const DERIVED_VARIANTS = Object.values(DERIVED_GRADES).map(({ variant }) => variant);

/** Runs in the browser: compiles the scene, and defines `drawFrame`, which returns the pixels of a moment. */
const START_SCENE = `({ shader, width, height, look }) => {
  const canvas = new OffscreenCanvas(width, height);
  const gl = canvas.getContext('webgl2', { preserveDrawingBuffer: true });
  const program = gl.createProgram();
  const corners = 'vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0';
  const triangle = '#version 300 es\\nvoid main() { gl_Position = vec4(' + corners + ', 0, 1); }';
  for (const [type, source] of [[gl.VERTEX_SHADER, triangle], [gl.FRAGMENT_SHADER, shader]]) {
    const compiled = gl.createShader(type);
    gl.shaderSource(compiled, source);
    gl.compileShader(compiled);
    if (!gl.getShaderParameter(compiled, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(compiled));
    gl.attachShader(program, compiled);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.uniform2f(gl.getUniformLocation(program, 'size'), width, height);
  gl.uniform1i(gl.getUniformLocation(program, 'look'), look);
  const time = gl.getUniformLocation(program, 'time');
  const flat = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  globalThis.drawFrame = (moment) => {
    gl.uniform1f(time, moment);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    flat.drawImage(canvas, 0, 0);
    return new Uint8Array(flat.getImageData(0, 0, width, height).data.buffer).toBase64();
  };
}`;

const DRAW_MARK = `async (width, height) => {
  const mark = new OffscreenCanvas(width, height);
  const text = mark.getContext('2d');
  Object.assign(text, { font: '600 9px sans-serif', letterSpacing: '1px', textAlign: 'right' });
  text.fillStyle = 'rgba(255, 255, 255, 0.6)';
  text.fillText('SIMULATED', width - 9, height - 9);
  return new Uint8Array(await (await mark.convertToBlob()).arrayBuffer()).toBase64();
}`;

await main();
