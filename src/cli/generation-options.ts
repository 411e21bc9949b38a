import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { INPUT_ROLES, type InputRole, type InputType, type VideoInput } from '../contract/generation-ways.ts';
import { defined, isObject } from '../contract/objects.ts';
import { ReelgateError } from '../sdk/errors.ts';
import type { CreateVideoRequest } from '../sdk/index.ts';
import { parseJsonObject, parsePositiveInteger, parseSeed, repeatableOption } from './argument-parsers.ts';
import type { CommandContext } from './command-context.ts';
import { hasAccount } from './credential-provider.ts';
import { UsageError } from './errors.ts';

/** Options of a command that describes a video. */
export interface GenerationOptions {
  readonly image: readonly string[];
  readonly video: readonly string[];
  readonly audio: readonly string[];
  readonly seconds?: number;
  readonly size?: string;
  readonly mode?: string;
  readonly ratio?: string;
  readonly resolution?: string;
  readonly negative?: string;
  readonly seed?: number;
  readonly sound?: boolean;
  readonly metadata?: { [key: string]: unknown };
}

/** Adds the options of a video description to a command. */
export const addGenerationOptions = (command: Command): Command =>
  command
    .addOption(
      repeatableOption(
        '-i, --image <[role=]file or URL>',
        'an image: the first frame, a second one the last frame; or with first=, last=, ref=, keyframe@2=; repeatable',
        'none',
      ),
    )
    .addOption(
      repeatableOption('--video <[role=]file or URL>', 'a reference video; source= to edit or extend it', 'none'),
    )
    .addOption(repeatableOption('--audio <[role=]file or URL>', 'a reference audio; voice= drives speech', 'none'))
    .option('-s, --seconds <n>', 'length in seconds', parsePositiveInteger)
    .option('--size <size>', 'such as 1280x720 or 720P')
    .option('--mode <mode>', 'quality mode, where the model has one')
    .option('--ratio <ratio>', 'aspect ratio, such as 16:9')
    .option('--resolution <resolution>', 'such as 1080p')
    .option('--negative <text>', 'negative prompt: what the video must not show')
    .option('--seed <n>', 'the same seed makes a similar video', parseSeed)
    .option('--sound', 'with sound, where the model has a choice')
    .option('--no-sound', 'without sound, where the model has a choice')
    .option('--metadata <json>', "the vendor's own parameters as a JSON object", parseJsonObject);

/** Options whose position in a request differs by vendor, keyed to the service's name for that position. */
const PLACED = {
  ratio: 'ratio',
  resolution: 'resolution',
  negative: 'negative_prompt',
  seed: 'seed',
  sound: 'audio',
} as const;
type PlacedOption = keyof typeof PLACED;

/** Converts command line options to a request. @throws UsageError if the model does not have an option */
export async function toCreateRequest(
  context: CommandContext,
  model: string,
  prompt: string,
  options: GenerationOptions,
): Promise<CreateVideoRequest> {
  const { seconds: duration, size, mode, metadata } = options;
  const common = defined({
    model,
    prompt,
    ...(await toMedia(options)),
    duration,
    size,
    mode,
    metadata,
  });
  return placeOptions(context, common, options);
}

async function placeOptions(
  context: CommandContext,
  request: CreateVideoRequest,
  options: GenerationOptions,
): Promise<CreateVideoRequest> {
  const given = (Object.keys(PLACED) as PlacedOption[]).filter((name) => options[name] !== undefined);
  if (given.length === 0) return request;
  const flags = given.map((name) => `--${name}`).join(', ');
  if (!(await hasAccount(context)))
    throw new UsageError(
      `${flags}: each vendor has another field for this, and a key does not tell which. Sign in with "reelgate login", or use --metadata.`,
    );
  const models = await context.reelgate.account.models('video');
  const fields = models.find(({ id }) => id === request.model)?.fields;
  // The service's own error lists the available models.
  if (fields === undefined) return request;
  const body: Record<string, unknown> = structuredClone(request);
  for (const name of given) {
    const path = fields[PLACED[name]];
    if (path === undefined) throw new UsageError(`${request.model} has no --${name}.`);
    setAtPath(body, path.split('.'), options[name]);
  }
  return body as CreateVideoRequest;
}

function setAtPath(body: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    body[key] = value;
    return;
  }
  const next = body[key];
  const inner: Record<string, unknown> = isObject(next) ? { ...next } : {};
  body[key] = inner;
  setAtPath(inner, rest, value);
}

type GivenMedia = Pick<GenerationOptions, 'image' | 'video' | 'audio'>;

/** Images without a role keep their older meaning; anything else is a list of typed inputs. */
async function toMedia(given: GivenMedia): Promise<Pick<CreateVideoRequest, 'image' | 'images' | 'inputs'>> {
  const isPlain = given.video.length + given.audio.length === 0 && !given.image.some((text) => ROLE.test(text));
  if (isPlain && !given.image.some(isFileId)) {
    const images = await Promise.all(given.image.map(toText));
    return images.length > 1 ? { images } : defined({ image: images[0] });
  }
  const roles: readonly InputRole[] = isPlain && given.image.length === 2 ? ['first_frame', 'last_frame'] : [];
  return {
    inputs: await Promise.all(
      (['image', 'video', 'audio'] as const).flatMap((type) =>
        given[type].map((text, index) => toInput(type, text, roles[index])),
      ),
    ),
  };
}

/** Short names of roles, and the role itself; a keyframe has its second behind an `@`. */
const ROLES: Readonly<Record<string, InputRole>> = {
  ...Object.fromEntries(INPUT_ROLES.map((role) => [role, role])),
  first: 'first_frame',
  last: 'last_frame',
  ref: 'reference',
};
const ROLE = new RegExp(`^(${Object.keys(ROLES).join('|')})(?:@(\\d{1,4}(?:\\.\\d+)?))?=(.+)$`, 's');

async function toInput(type: InputType, text: string, usualRole?: InputRole): Promise<VideoInput> {
  const [, word = '', at, rest = text] = ROLE.exec(text) ?? [];
  const role = ROLES[word] ?? usualRole;
  return defined({ type, role, at: at === undefined ? undefined : Number(at), ...(await toSource(rest)) });
}

async function toSource(text: string): Promise<Pick<VideoInput, 'url' | 'file_id' | 'data'>> {
  if (/^https?:\/\//i.test(text)) return { url: text };
  return isFileId(text) ? { file_id: text } : { data: await toText(text) };
}

/** Whether a text is the id of an uploaded file, or of a video made here, and no file on this machine. */
const isFileId = (text: string): boolean => /^(?:file-|task_|video_)\w+$/.test(text) && !existsSync(text);

/** Encodes a file as Base64; URLs are returned unchanged. */
const toText = async (text: string): Promise<string> =>
  /^https?:\/\//i.test(text) ? text : (await readFile(text)).toString('base64');

/** Maps request fields to the options that set them, longest names first. */
const FLAGS: readonly (readonly [field: RegExp, flag: string])[] = [
  [/\bnegative_?prompt\b/i, '--negative'],
  [/\b(aspect_?ratio|ratio)\b/i, '--ratio'],
  [/\bresolution\b/i, '--resolution'],
  [/\b(duration|seconds)\b/i, '--seconds'],
  [/\b(images?|input_reference)\b/i, '--image'],
  [/\binputs\b/i, '--image, --video, --audio'],
  [/\bseed\b/i, '--seed'],
  [/\bsize\b/i, '--size'],
  [/\bmode\b/i, '--mode'],
  [/\b(sound|generate_audio|audio)\b/i, '--sound'],
];

/** Adds the name of the responsible option to an error about a request field. */
export function addOptionToError(error: unknown): unknown {
  if (!(error instanceof ReelgateError) || error.status !== 400) return error;
  const flag = FLAGS.find(([field]) => field.test(error.message))?.[1];
  if (flag === undefined) return error;
  const { code, status, requestId, taskId } = error;
  return new ReelgateError(`${error.message} (${flag})`, { code, status, requestId, taskId, cause: error });
}

/** Options of a command that waits for a video. */
export interface WaitOptions {
  readonly out?: string;
  readonly timeout: number;
  readonly every?: number;
  readonly force?: boolean;
}

/** Adds the options for waiting to a command. */
export const addWaitOptions = (command: Command): Command =>
  command
    .option('-o, --out <file>', 'save the finished video here')
    .option('--timeout <seconds>', 'longest wait', parsePositiveInteger, 900)
    .option('--every <seconds>', 'between two polls; default: as the service advises, 10 to 30', parsePositiveInteger)
    .option('-f, --force', 'replace the file if it exists');
