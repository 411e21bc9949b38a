import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { INPUT_ROLES, INPUT_TYPES, type VideoInput, type VideoOperation } from './input-roles.ts';

/** Maximum number of inputs; no model takes as many. */
export const MAX_INPUTS = 64;

const INPUTS_DESCRIPTION =
  'A list of {type, role?, url | file_id | data, at?, name?}. type: image, video or audio. ' +
  `role: ${INPUT_ROLES.join(', ')}. In a form: inputs[0].type, inputs[0].role, inputs[0].file and so on. ` +
  'GET /v1/videos/models says what each model takes.';

/** Checked field by field when the request is read, so that errors name `inputs[0].role`. */
export const VideoInputs = Type.Unsafe<readonly VideoInput[]>(
  Type.Union(
    [
      Type.Array(Type.Unknown(), { maxItems: MAX_INPUTS }),
      Type.Record(Type.String(), Type.Unknown()),
      Type.String({ maxLength: 1024 * 1024 }),
    ],
    { description: INPUTS_DESCRIPTION },
  ),
);

export const Operation = Type.Unsafe<VideoOperation>(
  Type.String({
    maxLength: 20,
    description: 'generate (default), edit or extend a video, the input with role source.',
  }),
);

const Text = Type.String();
const Count = Type.Integer({ minimum: 0 });

/** A model that makes videos, with everything a request to it may contain. */
export const VideoModel = Type.Object({
  id: Text,
  object: Type.Literal('video.model'),
  vendor: Text,
  title: Text,
  inputs: Type.Array(
    Type.Object({
      type: Type.Enum(INPUT_TYPES),
      roles: Type.Array(Type.Enum(INPUT_ROLES)),
      min: Count,
      max: Count,
      max_bytes: Type.Integer({ minimum: 0, description: 'Largest file in bytes.' }),
      formats: Type.Optional(Type.Array(Text, { description: 'Media types; absent: every one of the type.' })),
      max_seconds: Type.Optional(Type.Integer({ minimum: 0, description: 'Longest video or audio in seconds.' })),
    }),
    { description: 'What the model can be given.' },
  ),
  seconds: Type.Unknown({ description: '{values} or {min, max, step}; {} if unknown.' }),
  resolutions: Type.Array(Text, { description: 'Each may be given as `size`.' }),
  ratios: Type.Array(Text),
  sizes: Type.Array(Text, { description: 'Further values of `size`.' }),
  modes: Type.Array(Text),
  audio: Type.Boolean(),
  operations: Type.Array(Type.Enum(['generate', 'edit', 'extend', 'remix']), {
    description: 'What the model can do.',
  }),
  parameters: Type.Unknown({ description: 'JSON Schema of the request body; its `anyOf` lists the combinations.' }),
  price: Type.Unknown({ description: 'As in the catalogue: quota per call, second, image or unit.' }),
  typical_seconds: Type.Union([Type.Integer(), Type.Null()], { description: 'Median time to make a video.' }),
  lifecycle: Type.Object(
    {
      stage: Type.Enum(['active', 'retiring'], { description: 'Whether the vendor has announced its end.' }),
      retires_on: Type.Union([Text, Type.Null()], {
        description: 'Day of the end, YYYY-MM-DD; null if none is known.',
      }),
    },
    { description: 'How long the vendor offers the model.' },
  ),
});

const list = {
  method: 'GET',
  tag: 'models',
  policy: 'model',
  envelope: 'openai-video',
  compressed: true,
  responseStatuses: [200, 304],
} as const;
export const listVideoModels = endpoint({
  ...list,
  path: '/v1/videos/models',
  summary: 'Video models this key may call: inputs, lengths, sizes, operations, parameters, price',
  response: Type.Object({ object: Type.Literal('list'), data: Type.Array(VideoModel) }),
});
export const getVideoModel = endpoint({
  ...list,
  path: '/v1/videos/models/:model',
  summary: 'One video model this key may call',
  params: Type.Object({ model: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: VideoModel,
});
