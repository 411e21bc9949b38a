import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { INPUT_ROLES, INPUT_TYPES, type VideoInput, type VideoOperation } from './generation-ways.ts';
import { LongListOf, LongPageQuery, Ok } from './responses.ts';
import { FAILURE_CAUSES, TASK_STATUS } from './task-states.ts';

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

const UnixSeconds = Type.Union([Type.Number(), Type.Null()], { description: 'Unix seconds' });
/**
 * Schema of a video object for the OpenAPI document only; responses are sent unchanged because Sora's own object is
 * passed through.
 */
const DocumentedVideo = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('video'),
    model: Type.Optional(Type.String({ description: 'empty for Kling' })),
    status: Type.Optional(Type.Enum(['unknown', 'queued', 'in_progress', 'completed', 'failed'])),
    progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: 'percent' })),
    created_at: Type.Optional(UnixSeconds),
    completed_at: Type.Optional(UnixSeconds),
    expires_at: Type.Optional(UnixSeconds),
    task_id: Type.Optional(Type.String()),
    prompt: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    seconds: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    size: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    remixed_from_video_id: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    metadata: Type.Optional(
      Type.Object({
        url: Type.Optional(Type.String({ description: 'empty before completion' })),
        source_video_id: Type.Optional(Type.String({ description: 'the video that was edited or extended' })),
      }),
    ),
    error: Type.Optional(
      Type.Union([
        Type.Object({ message: Type.Optional(Type.String()), code: Type.Optional(Type.String()) }),
        Type.Null(),
      ]),
    ),
    queue: Type.Optional(Type.Unknown({ description: 'Only while it waits: `position` and `starts_in_seconds`.' })),
  },
  {
    description:
      "An OpenAI video object; which keys exist varies by vendor. OpenAI's own clients (X-Stainless-Lang) get OpenAI's complete object: all keys but task_id and metadata, null where unknown, completed_at null until the end, and 404 for a missing video.",
  },
);
/** Only while a video waits for a slot. */
export const QueuePosition = Type.Object(
  {
    position: Type.Integer({ minimum: 1, description: '1 starts next.' }),
    starts_in_seconds: Type.Object(
      {
        p50: Type.Integer({ minimum: 0, description: 'Half of such videos start within this time.' }),
        p90: Type.Integer({ minimum: 0, description: 'Nine in ten start within this time.' }),
      },
      { description: 'Forecast of the start.' },
    ),
  },
  { description: 'Queue position of a waiting video; absent otherwise.' },
);
/** Some submissions return only the task id. */
export const DocumentedSubmit = Type.Union([DocumentedVideo, Type.Object({ task_id: Type.String() })]);

/** A row of the owner's own list; never contains upstream credentials, channels or data of other accounts. */
export const VideoRow = Type.Object({
  task_id: Type.String(),
  model: Type.String(),
  prompt: Type.String({ description: 'Empty where only other members of the organization may see it.' }),
  status: Type.Enum(TASK_STATUS),
  progress: Type.String(),
  fail_cause: Type.Enum(['', ...FAILURE_CAUSES], {
    description: 'Why it failed, in terms common to all vendors; empty unless it failed.',
  }),
  fail_reason: Type.String({ description: "The vendor's own message." }),
  error_code: Type.String({ description: "The vendor's own code, where it has one." }),
  quota: Type.Integer({
    description: 'What was charged; what is reserved while it runs, and what was returned if it failed.',
  }),
  reserved: Type.Optional(
    Type.Integer({
      description: 'What it had reserved, if it was charged less; another one like it reserves as much.',
    }),
  ),
  imported: Type.Boolean({
    description:
      'It ended in the program this account was imported from: `quota` was charged there and is in no ledger here.',
  }),
  poster_url: Type.String({ description: 'A short-lived URL of its poster; empty where it has none yet.' }),
  submit_time: Type.Integer(),
  finish_time: Type.Integer(),
  queue: Type.Optional(QueuePosition),
  submitted_by: Type.Optional(
    Type.String({ description: 'User name of the member who submitted a video of an organization.' }),
  ),
});
/** A video of the same lineage. */
const Relative = Type.Object({
  task_id: Type.String(),
  operation: Type.Enum(['edit', 'extend', 'remix'], { description: 'Operation that derived one from the other.' }),
  prompt: Type.String(),
  status: Type.Enum(TASK_STATUS),
});
const ListedVideo = Type.Object({
  ...VideoRow.properties,
  play_url: Type.String({ description: 'A short-lived URL for playing in a browser; empty before completion.' }),
  source: Type.Union([Relative, Type.Null()], {
    description: 'The video it was derived from, and by which operation; null: none, or it was deleted.',
  }),
});
export const Provenance = Type.Object({
  c2pa: Type.Enum(['absent', 'present', 'valid', 'invalid'], {
    description:
      'C2PA manifest of the file. valid: its signature and hashes match the file, regardless of the signer; invalid: they do not; present: of a kind that is not checked here.',
  }),
  signer: Type.String({
    description: 'Organization or name in the certificate of a valid manifest, which anyone may have made.',
  }),
  aigc: Type.Boolean({ description: 'The file has the metadata AIGC of GB 45438.' }),
});
const VideoDetail = Type.Object({
  ...ListedVideo.properties,
  start_time: Type.Integer(),
  /** Whether the quota was refunded. */
  refunded: Type.Boolean(),
  stored: Type.Boolean({ description: 'A copy of the file is kept here.' }),
  stored_until: Type.Integer({ description: 'When that copy is removed, Unix seconds; 0: never, or there is none.' }),
  provenance: Type.Union([Provenance, Type.Null()], {
    description: 'Provenance marks of the stored copy; null: there is no copy.',
  }),
  children: Type.Array(Relative, { description: 'Videos made from it, newest first.' }),
  /** The request parameters, for submitting the video again. */
  request: Type.Unknown(),
});

const MB = 1024 * 1024;
/** Bytes. JSON bodies carry images as Base64, multipart bodies carry files. */
export const VIDEO_JSON_LIMIT = 32 * MB;
export const VIDEO_BODY_LIMIT = 64 * MB;

const Prompt = Type.String({ maxLength: 32_000 });
/** A URL, a data URL or bare Base64; the body limit bounds its size. */
const ImageText = Type.String({ maxLength: 30 * MB, description: 'A URL, a data URL or Base64; empty: none.' });
const NoText = Type.Union([ImageText, Type.Null()]);
/** Object form of an image, as in OpenAI's input references and chat message parts. */
const ImageObject = Type.Object({
  url: Type.Optional(NoText),
  image_url: Type.Optional(Type.Union([NoText, Type.Object({ url: NoText })])),
});
const ImageList = Type.Array(Type.Union([NoText, ImageObject]), { maxItems: 20 });
/** One image or several; the maximum applies to the images of all fields together. */
const Image = Type.Union([ImageText, ImageObject, ImageList]);
const Images = Type.Union([ImageList, ImageText, ImageObject]);
const Seconds = Type.Union([
  Type.Integer({ minimum: 1, maximum: 3600 }),
  Type.String({ pattern: '^ *[0-9]{0,4} *$', description: 'The same as a text; empty: none.' }),
]);

/**
 * `POST /v1/video/generations`. Other fields reach a vendor only if a media schema or the vendor's table names them.
 */
const CallbackUrl = Type.String({
  maxLength: 2_000,
  description: "Gets the event of the end (docs/webhooks.md), signed with the account's secret.",
});

const Queue = Type.Union([Type.Boolean(), Type.Enum(['', 'true', 'false', '1', '0'])], {
  description:
    'Behaviour when the key, the account or all channels are full. true, the default: the video waits for a slot; false: 429 or 503.',
});

export const GenerationBody = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 200 }),
  prompt: Type.Optional(Prompt),
  image: Type.Optional(Image),
  images: Type.Optional(Images),
  duration: Type.Optional(Seconds),
  size: Type.Optional(Type.String({ maxLength: 40 })),
  mode: Type.Optional(Type.String({ maxLength: 40 })),
  seconds: Type.Optional(Seconds),
  input_reference: Type.Optional(Image),
  inputs: Type.Optional(VideoInputs),
  operation: Type.Optional(Operation),
  metadata: Type.Optional(
    Type.Union([
      Type.Record(Type.String(), Type.Unknown()),
      Type.String({ maxLength: 1 * MB, description: 'JSON of the object, for forms.' }),
    ]),
  ),
  callback_url: Type.Optional(CallbackUrl),
  queue: Type.Optional(Queue),
});

/**
 * `POST /v1/videos`: the same fields. A model omitted means the setting `DEFAULT_VIDEO_MODEL`, and for an edit or an
 * extension the model of its source.
 */
export const VideoBody = Type.Object({
  ...GenerationBody.properties,
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
});

/** Fields that carry images: files of a multipart body, texts of a JSON body. */
export const IMAGE_FIELDS = ['image', 'images', 'input_reference'] as const;
/** Members of a JSON body whose large Base64 is decoded. */
export const BASE64_FIELDS = [...IMAGE_FIELDS, 'inputs'] as const;

export const TaskParam = Type.Object({ task_id: Type.String({ minLength: 1, maxLength: 200 }) });

/** The unified task: every key is always present (service contract, video task). */
export const UnifiedTask = Type.Object({
  task_id: Type.String(),
  action: Type.String(),
  status: Type.String({
    description: 'NOT_START … UNKNOWN; for Veo-style tasks queued, processing, succeeded or failed.',
  }),
  fail_reason: Type.String({ description: 'Reason of a failure; URL of the video after a success.' }),
  submit_time: Type.Integer(),
  start_time: Type.Integer(),
  finish_time: Type.Integer(),
  progress: Type.String({ description: 'Percent, for display only.' }),
  data: Type.Unknown({ description: "The vendor's last answer." }),
  queue: Type.Optional(QueuePosition),
});
export const UnifiedTaskResponse = Type.Object({
  code: Type.Literal('success'),
  message: Type.String(),
  data: UnifiedTask,
});

/** The OpenAI-style object, sent unchanged: its keys vary by vendor, and Sora's own object passes through. */
export const VideoObject = Type.Unknown({
  description: 'An OpenAI video object: id, object, status, progress, created_at, model, …',
});
export const VideoList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(VideoObject),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
});

/** Properties common to the endpoints that start a video. */
export const submitDefaults = {
  method: 'POST',
  tag: 'video',
  policy: 'model',
  bodyLimit: VIDEO_BODY_LIMIT,
  jsonBodyLimit: VIDEO_JSON_LIMIT,
  response: VideoObject,
  documentedResponse: DocumentedSubmit,
} as const;
/** Properties common to those of them that take the unified fields. */
export const takesImages = {
  accepts: 'json-or-multipart',
  files: IMAGE_FIELDS,
  imageFields: BASE64_FIELDS,
} as const;
/** Properties common to the endpoints that read a video. */
export const readDefaults = { method: 'GET', tag: 'video', policy: 'model' } as const;
/** A file or a byte range of one (RFC 9110 section 14). */
export const FILE_RESPONSE = {
  responseTypes: ['video/*', 'image/*', 'application/octet-stream', 'multipart/byteranges'],
  responseStatuses: [200, 206, 304, 416],
} as const;

export const submitGeneration = endpoint({
  ...submitDefaults,
  path: '/v1/video/generations',
  summary: 'Start a video (unified format)',
  envelope: 'video',
  ...takesImages,
  body: GenerationBody,
});
export const getGeneration = endpoint({
  ...readDefaults,
  path: '/v1/video/generations/:task_id',
  summary: 'Get a task (unified format)',
  envelope: 'video',
  params: TaskParam,
  response: UnifiedTaskResponse,
});
export const submitVideo = endpoint({
  ...submitDefaults,
  path: '/v1/videos',
  summary: 'Start a video (OpenAI format)',
  envelope: 'openai-video',
  ...takesImages,
  body: VideoBody,
});
export const listVideos = endpoint({
  ...readDefaults,
  path: '/v1/videos',
  summary: 'List the videos of this key',
  envelope: 'openai-video',
  query: Type.Object({
    after: Type.Optional(Type.String({ maxLength: 200 })),
    limit: Type.Optional(Type.String({ maxLength: 10 })),
    order: Type.Optional(Type.String({ maxLength: 10 })),
  }),
  response: VideoList,
});
export const getVideo = endpoint({
  ...readDefaults,
  path: '/v1/videos/:task_id',
  summary: 'Get a video (OpenAI format); with `wait`, once it has ended or after that many seconds',
  envelope: 'openai-video',
  params: TaskParam,
  query: Type.Object({ wait: Type.Optional(Type.String({ maxLength: 10, description: 'Seconds, at most 60.' })) }),
  response: VideoObject,
  documentedResponse: DocumentedVideo,
});
export const streamVideo = endpoint({
  ...readDefaults,
  path: '/v1/videos/:task_id/events',
  summary:
    'The video at each change until it has ended, as server-sent events: `video.queued`, `video.in_progress`, `video.completed`, `video.failed`',
  envelope: 'openai-video',
  params: TaskParam,
  responseTypes: ['text/event-stream'],
});
export const deleteVideo = endpoint({
  method: 'DELETE',
  tag: 'video',
  policy: 'model',
  path: '/v1/videos/:task_id',
  summary: 'Delete a finished video; one that waits for a slot is cancelled instead, and stays readable as failed',
  envelope: 'openai-video',
  params: TaskParam,
  response: Type.Object({ id: Type.String(), object: Type.Literal('video.deleted'), deleted: Type.Literal(true) }),
});
export const cancelVideo = endpoint({
  ...readDefaults,
  method: 'POST',
  path: '/v1/videos/:task_id/cancel',
  summary: 'Cancel a waiting video and refund it',
  envelope: 'openai-video',
  params: TaskParam,
  response: VideoObject,
  documentedResponse: DocumentedVideo,
});
export const getContent = endpoint({
  ...readDefaults,
  path: '/v1/videos/:task_id/content',
  summary: 'Download the video file; Range and HEAD work',
  envelope: 'openai-video',
  params: TaskParam,
  query: Type.Object({ variant: Type.Optional(Type.String({ pattern: '^(video|thumbnail|spritesheet)$' })) }),
  ...FILE_RESPONSE,
});
export const remixVideo = endpoint({
  ...submitDefaults,
  path: '/v1/videos/:task_id/remix',
  summary: 'Remix a finished Sora-style video',
  envelope: 'openai-video',
  params: TaskParam,
  accepts: 'json-or-multipart',
  body: Type.Object({ prompt: Type.Optional(Prompt), callback_url: Type.Optional(CallbackUrl) }),
});

/** A video made here or an uploaded file, by its id; in a form also the file itself. */
const SourceVideo = Type.Union([
  Type.Object({ id: Type.String({ minLength: 1, maxLength: 200 }) }),
  Type.String({ minLength: 1, maxLength: 200, description: 'The same as a text.' }),
]);
const ChangeBody = Type.Object({
  prompt: Type.Optional(Prompt),
  video: Type.Optional(SourceVideo),
  model: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Default: the model of the video; a file needs one.' }),
  ),
  seconds: Type.Optional(Seconds),
  size: Type.Optional(Type.String({ maxLength: 40 })),
  inputs: Type.Optional(VideoInputs),
  metadata: GenerationBody.properties.metadata,
  callback_url: Type.Optional(CallbackUrl),
  queue: Type.Optional(Queue),
});
const changes = {
  ...submitDefaults,
  envelope: 'openai-video',
  accepts: 'json-or-multipart',
  files: ['video'],
  imageFields: ['inputs'],
  body: ChangeBody,
} as const;
export const editVideo = endpoint({ ...changes, path: '/v1/videos/edits', summary: 'Edit a finished video or a file' });
export const extendVideo = endpoint({
  ...changes,
  path: '/v1/videos/extensions',
  summary: 'Continue a finished video or a file; seconds is the length of the new part',
});

/** Operations of OpenAI's videos API that no upstream here offers: rejected with a reason instead of a 404. */
const unsupported = (method: 'GET' | 'POST', path: string, summary: string) =>
  endpoint({
    method,
    tag: 'video',
    policy: 'model',
    path,
    summary,
    envelope: 'openai-video',
    accepts: 'json-or-multipart',
    bodyLimit: VIDEO_BODY_LIMIT,
  });
export const createCharacter = unsupported(
  'POST',
  '/v1/videos/characters',
  'Not offered: returns operation_unsupported',
);
export const getCharacter = endpoint({
  ...unsupported('GET', '/v1/videos/characters/:character_id', 'Not offered: returns operation_unsupported'),
  params: Type.Object({ character_id: Type.String({ minLength: 1, maxLength: 200 }) }),
});

export const listOwnVideos = endpoint({
  organization: 'member',
  method: 'GET',
  tag: 'video',
  policy: 'account',
  path: '/api/videos',
  summary: 'Videos of all keys of the account, newest first',
  envelope: 'api',
  // Prompts and play links are the account's own.
  compressed: true,
  query: Type.Object({
    ...LongPageQuery,
    status: Type.Optional(Type.String({ maxLength: 20 })),
    model: Type.Optional(Type.String({ maxLength: 200 })),
    from: Type.Optional(Type.String({ maxLength: 20 })),
    to: Type.Optional(Type.String({ maxLength: 20 })),
    q: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'words of the prompt, all of them; searches the newest 5,000 videos',
      }),
    ),
    favourite: Type.Optional(Type.Enum(['', 'true'])),
    collection: Type.Optional(Type.String({ pattern: '^([1-9][0-9]{0,15})?$', description: 'Id of a collection.' })),
  }),
  response: LongListOf(ListedVideo),
});
export const getOwnVideo = endpoint({
  organization: 'member',
  method: 'GET',
  tag: 'video',
  policy: 'account',
  path: '/api/videos/:task_id',
  summary: 'One video of the account with an address for playing it',
  envelope: 'api',
  params: TaskParam,
  response: Ok(VideoDetail),
});
export const playVideo = endpoint({
  method: 'GET',
  tag: 'video',
  policy: 'self',
  path: '/play/:task_id',
  summary: 'The file behind a signed, short-lived URL',
  envelope: 'page',
  ...FILE_RESPONSE,
  params: TaskParam,
  query: Type.Object({
    expires: Type.String({ pattern: '^[0-9]{1,16}$' }),
    credential: Type.String({
      pattern: '^[a-z][0-9a-f]{1,22}(@[1-9][0-9]{0,15})?$',
      description: 'Names the sign-in that asked for the link; the link ends with it.',
    }),
    signature: Type.String({ maxLength: 100 }),
    variant: Type.Optional(Type.Enum(['thumbnail'])),
    name: Type.Optional(
      Type.String({ maxLength: 200, description: 'Name of the saved file; its extension follows its media type.' }),
    ),
  }),
});

/**
 * Fields every adapter reads by its own rules and every form shows. A media schema may constrain them without sending
 * them twice, and they are not passed through as native fields.
 */
export const STANDARD_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'image',
  'images',
  'duration',
  'seconds',
  'size',
  'mode',
  'input_reference',
  'inputs',
  'operation',
  'metadata',
  'queue',
]);
