import Type, { type Static, type TSchema } from 'typebox';
import { SPEND_PERIODS } from './amounts.ts';
import { endpoint } from './endpoint.ts';
import { Quote } from './own-videos.ts';
import { GenerationBody, VideoModel } from './video.ts';

/** Path of the Model Context Protocol endpoint, which is the resource of its access tokens too. */
export const MCP_PATH = '/mcp';

const RequestId = Type.Union([Type.String(), Type.Integer()]);

/** A JSON-RPC 2.0 response. */
const RpcResponse = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Union([RequestId, Type.Null()], { description: 'null: the id of the request could not be read.' }),
  result: Type.Optional(Type.Object({}, { additionalProperties: true })),
  error: Type.Optional(
    Type.Object({
      code: Type.Integer(),
      message: Type.String(),
      data: Type.Optional(Type.Unknown()),
    }),
  ),
});

export const callMcp = endpoint({
  method: 'POST',
  path: MCP_PATH,
  tag: 'mcp',
  policy: 'mcp',
  envelope: 'mcp',
  summary: 'Model Context Protocol over Streamable HTTP, versions 2025-06-18, 2025-11-25 and 2026-07-28',
  bodyLimit: 4 * 1024 * 1024,
  body: Type.Unknown({ description: 'One JSON-RPC 2.0 request or notification.' }),
  documentedResponse: RpcResponse,
  responseStatuses: [200, 202],
});

/** Longest time for which `get_video` waits, in seconds: below the timeouts of clients and proxies. */
export const MAX_WAIT_SECONDS = 45;
/** Characters of a prompt that a list shows. */
export const LISTED_PROMPT_LENGTH = 300;

const orNull = (schema: TSchema, description: string) => Type.Union([schema, Type.Null()], { description });
const Count = Type.Integer({ minimum: 0 });

/** A video as the tools describe it, with the same members for every vendor. */
export const McpVideo = Type.Object({
  id: Type.String(),
  status: Type.Enum(['queued', 'in_progress', 'completed', 'failed']),
  progress: Type.Integer({ minimum: 0, maximum: 100, description: 'Percent.' }),
  model: Type.String(),
  prompt: Type.String({ description: `list_videos shows the first ${LISTED_PROMPT_LENGTH} characters.` }),
  seconds: orNull(Type.String(), 'Length of the video.'),
  size: orNull(Type.String(), 'Size or resolution.'),
  quota: Type.Integer({ minimum: 0, description: 'Charged for it; refunded if it fails.' }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  completed_at: orNull(Type.Integer(), 'Unix seconds.'),
  source_video_id: orNull(Type.String(), 'The video it was made from.'),
  url: orNull(
    Type.String(),
    'The file, once completed: works in a browser without a key for ten minutes; get_video returns a new one.',
  ),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() }), 'Why it failed.'),
});
export type McpVideo = Static<typeof McpVideo>;

const Dropped = Type.Array(Type.String(), {
  description: 'Arguments that the model does not know; they had no effect.',
});
const StartedVideo = Type.Object({ ...McpVideo.properties, dropped: Dropped });

const VideoId = Type.String({ minLength: 1, maxLength: 200, description: 'The id of a video made with this access.' });
const IdempotencyKey = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 255,
    description:
      'Any text unique to this video. A repeated call with the same key returns the video of the first one for 24 hours and charges nothing.',
  }),
);
/*
 * Schemas of arguments have neither unions nor patterns of names: Gemini, Cursor and others refuse a request with any
 * tool that has them, and with it all tools.
 */
const Metadata = Type.Optional(
  Type.Object(
    {},
    {
      additionalProperties: true,
      description: "Further options of the model, by their vendor's names; list_models with `model` describes them.",
    },
  ),
);
const Seconds = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 3600,
    description: 'Length in seconds; list_models names the lengths of each model.',
  }),
);
const Size = Type.Optional(
  Type.String({ maxLength: 40, description: 'A size such as 1280x720, a resolution such as 720p, or a ratio.' }),
);
/** The same values as in the body of `POST /v1/videos`, described for a model that has no access to its documents. */
const Inputs = Type.Optional(
  Type.Array(
    Type.Object(
      {
        type: Type.Enum(['image', 'video', 'audio']),
        role: Type.Optional(
          Type.String({ description: 'first_frame, last_frame, keyframe, reference, source, voice or mask.' }),
        ),
        url: Type.Optional(Type.String({ description: 'A public address.' })),
        file_id: Type.Optional(Type.String({ description: 'An uploaded file, or the id of a video made here.' })),
        data: Type.Optional(Type.String({ description: 'Base64 or a data URL; small files only.' })),
        at: Type.Optional(Type.Number({ description: 'Second of a keyframe.' })),
        name: Type.Optional(Type.String({ description: 'The prompt may refer to it as @name.' })),
      },
      { additionalProperties: false },
    ),
    { maxItems: 64, description: 'Images, videos and audio to make the video from; one of url, file_id, data each.' },
  ),
);

const prompt = Type.String({ minLength: 1, maxLength: 32_000, description: 'What the video shows.' });
const GENERATION = {
  prompt,
  model: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'An id from list_models; default: that of this site.' }),
  ),
  seconds: Seconds,
  size: Size,
  mode: GenerationBody.properties.mode,
  inputs: Inputs,
  metadata: Metadata,
};
const CHANGE = {
  id: VideoId,
  prompt,
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Default: that of the video.' })),
  seconds: Seconds,
  size: Size,
  inputs: Inputs,
  metadata: Metadata,
  idempotency_key: IdempotencyKey,
};

/** A tool as `tools/list` describes it. */
interface ToolDeclaration {
  readonly title: string;
  readonly description: string;
  readonly input: TSchema;
  readonly output: TSchema;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint: boolean;
  };
}

const READS = { readOnlyHint: true, openWorldHint: false };
/** Spends quota and destroys nothing. A repeated call is a second video, unless it has the same `idempotency_key`. */
const SPENDS = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };
const closed = { additionalProperties: false };

const STARTS =
  'Returns at once with the id of the video; the file takes a minute or more, so call get_video with wait_seconds until status is completed or failed.';

const { parameters, ...ListedModel } = VideoModel.properties;

/** The tools of the endpoint, by name. */
export const TOOLS = {
  list_models: {
    title: 'List video models',
    description:
      'The video models that can be used, with inputs, lengths, sizes, operations and price. With `model`: that one alone, with the JSON Schema of its parameters.',
    input: Type.Object({ model: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })) }, closed),
    output: Type.Object({
      models: Type.Array(Type.Object({ ...ListedModel, parameters: Type.Optional(parameters) })),
    }),
    annotations: READS,
  },
  quote_video: {
    title: 'Quote a video',
    description:
      'What a video would cost and how many such videos the account can pay for. Takes the arguments of create_video; starts and charges nothing.',
    input: Type.Object(GENERATION),
    output: Type.Object({ ...Quote.properties, dropped: Dropped }),
    annotations: READS,
  },
  create_video: {
    title: 'Create a video',
    description: `Starts a video from a prompt, and from images, videos or audio where the model takes them. Spends quota. ${STARTS}`,
    input: Type.Object({ ...GENERATION, idempotency_key: IdempotencyKey }),
    output: StartedVideo,
    annotations: SPENDS,
  },
  get_video: {
    title: 'Get a video',
    description: `The state of a video and, once completed, the link to its file. With wait_seconds it waits up to that long (${MAX_WAIT_SECONDS} at most) for the end of the video.`,
    input: Type.Object(
      { id: VideoId, wait_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WAIT_SECONDS })) },
      closed,
    ),
    output: McpVideo,
    annotations: READS,
  },
  list_videos: {
    title: 'List videos',
    description: 'The videos made with this access, newest first.',
    input: Type.Object(
      {
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default: 20.' })),
        after: Type.Optional(Type.String({ maxLength: 200, description: '`last_id` of the page before.' })),
      },
      closed,
    ),
    output: Type.Object({
      videos: Type.Array(McpVideo),
      last_id: orNull(Type.String(), 'null: the list is empty.'),
      has_more: Type.Boolean(),
    }),
    annotations: READS,
  },
  edit_video: {
    title: 'Edit a video',
    description: `Starts a changed version of a completed video; the prompt says what to change. Spends quota. ${STARTS}`,
    input: Type.Object(CHANGE),
    output: StartedVideo,
    annotations: SPENDS,
  },
  extend_video: {
    title: 'Extend a video',
    description: `Starts a continuation of a completed video; seconds is the length of the new part. Spends quota. ${STARTS}`,
    input: Type.Object(CHANGE),
    output: StartedVideo,
    annotations: SPENDS,
  },
  balance: {
    title: 'Balance',
    description:
      'The quota that is left: of the balance, of the allowance of the plan, and of the limit of this access.',
    input: Type.Object({}, closed),
    output: Type.Object({
      balance: Type.Integer({ description: 'The balance, in quota.' }),
      balance_text: Type.String({ description: 'The same in the currency or the credits of the site.' }),
      windows: Type.Array(
        Type.Object({
          kind: Type.Enum(['day', 'interval', 'week', 'month']),
          limit: Count,
          left: Count,
          full_again: Type.Integer({ description: 'Unix seconds.' }),
        }),
        { description: 'Of the allowance of the plan, which pays first; empty without one.' },
      ),
      key_left: orNull(Type.Integer(), 'What the limit of this access leaves; null: it has none.'),
      spend_limits: Type.Array(
        Type.Object({
          period: Type.Enum([...SPEND_PERIODS]),
          limit: Count,
          left: Count,
          full_again: Type.Integer({ description: 'Unix seconds.' }),
        }),
        { description: 'Caps on what this access and its account spend per period; empty without one.' },
      ),
    }),
    annotations: READS,
  },
} as const satisfies Record<string, ToolDeclaration>;

export type ToolName = keyof typeof TOOLS;
export type ToolInput<N extends ToolName> = Static<(typeof TOOLS)[N]['input']>;
export type ToolOutput<N extends ToolName> = Static<(typeof TOOLS)[N]['output']>;
