import Type, { type Static } from 'typebox';
import { SpendLimitState } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Receipt } from './request-log.ts';
import { Done, IdParam, Ok } from './responses.ts';
import { BASE64_FIELDS, GenerationBody, submitDefaults, takesImages, VIDEO_JSON_LIMIT, VideoBody } from './video.ts';

const HowMany = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: 'null: without a limit.' });

/** Estimated cost of a video and the number of such videos the account can afford. Nothing is started or reserved. */
export const Quote = Type.Object({
  quota: Type.Integer({ description: 'Amount reserved; the charge never exceeds it.' }),
  model: Type.String(),
  facts: Receipt.properties.facts,
  lines: Type.Array(Receipt.properties.lines.items),
  affordable: Type.Boolean({ description: 'Whether one can be started now.' }),
  from_allowance: Type.Integer({ description: 'Part the allowance would pay now.' }),
  from_wallet: Type.Integer(),
  how_many_now: HowMany,
  how_many_today: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description:
      'Until the end of the day of the account, with allowances that begin anew before; null: without a limit.',
  }),
  balance: Type.Integer({ description: 'The balance.' }),
  windows: Type.Array(
    Type.Object({
      kind: Type.Enum(['day', 'interval', 'week', 'month']),
      limit: Type.Integer(),
      left: Type.Integer(),
      full_again: Type.Integer({ description: 'Start of the next window, in Unix seconds.' }),
      how_many: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
        description: 'Number that fits into the remainder.',
      }),
    }),
    {
      description:
        'Of the allowance; empty without one. An amount must fit into all of them, or the balance pays the rest.',
    },
  ),
  key_left: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Remainder of the limit of the key; null: no limit.',
  }),
  spend_limits: Type.Array(
    Type.Object({
      of: Type.Enum(['account', 'key', 'member']),
      ...SpendLimitState.properties,
      left: Type.Integer(),
    }),
    { description: 'Spend limits of the account and of the key.' },
  ),
});

const ModelQuote = Type.Object({ object: Type.Literal('video.quote'), ...Quote.properties });

export const quoteModelVideo = endpoint({
  ...submitDefaults,
  path: '/v1/videos/quote',
  summary: 'Price of a video, and how many the account can pay for; starts nothing. The body of POST /v1/videos',
  envelope: 'openai-video',
  ...takesImages,
  body: VideoBody,
  response: ModelQuote,
  documentedResponse: ModelQuote,
});

/** A video request from the console; keys beyond the common ones are arguments of the model's media schema. */
export const ConsoleVideoBody = Type.Object(GenerationBody.properties, { additionalProperties: true });

const studio = { tag: 'video', policy: 'account', envelope: 'api' } as const;

export const submitOwnVideo = endpoint({
  organization: 'member',
  ...studio,
  method: 'POST',
  path: '/api/videos',
  summary: 'Start a video by the account itself, without an API key; Idempotency-Key as for the model API',
  spends: true,
  bodyLimit: VIDEO_JSON_LIMIT,
  imageFields: BASE64_FIELDS,
  body: ConsoleVideoBody,
  response: Ok(Type.Object({ task_id: Type.String() })),
});

export const quoteVideo = endpoint({
  organization: 'member',
  ...studio,
  method: 'POST',
  path: '/api/videos/quote',
  summary:
    'Price of a video, and how many the account can pay for; starts nothing and rejects what a submit would reject',
  bodyLimit: VIDEO_JSON_LIMIT,
  imageFields: BASE64_FIELDS,
  body: ConsoleVideoBody,
  response: Ok(Quote),
});

const Seconds = Type.Integer({ minimum: 0 });

export const listGenerationTimes = endpoint({
  organization: 'member',
  ...studio,
  method: 'GET',
  path: '/api/video-durations',
  summary: 'Durations from request to result, measured from the newest finished videos of all accounts',
  response: Ok(
    Type.Array(
      Type.Object({
        model: Type.String(),
        p50_seconds: Seconds,
        p90_seconds: Seconds,
        samples: Type.Integer({ minimum: 5, description: 'Finished videos of the last 30 days it is computed from.' }),
      }),
      { description: 'Models with fewer than five finished videos are left out.' },
    ),
  ),
});

export const deleteOwnVideo = endpoint({
  organization: 'member',
  ...studio,
  method: 'DELETE',
  path: '/api/videos/:task_id',
  summary: "Delete a finished video from the account's list",
  params: Type.Object({ task_id: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: Done,
});

export const cancelOwnVideo = endpoint({
  organization: 'member',
  ...studio,
  method: 'POST',
  path: '/api/videos/:task_id/cancel',
  summary: 'Cancel a waiting video and refund it',
  params: Type.Object({ task_id: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: Done,
});

/** Maximum number of favourites per account, chosen so that one response holds them all. */
export const MAX_FAVOURITES = 1_000;

const favourites = { tag: 'video', policy: 'account', envelope: 'api' } as const;
const TaskParam = Type.Object({ task_id: Type.String({ minLength: 1, maxLength: 200 }) });

export const listFavourites = endpoint({
  organization: 'member',
  ...favourites,
  method: 'GET',
  path: '/api/videos/favourites',
  summary: 'Task ids of favourites, newest video first; GET /api/videos?favourite=true has the videos',
  response: Ok(Type.Array(Type.String())),
});

export const addFavourite = endpoint({
  organization: 'member',
  ...favourites,
  method: 'PUT',
  path: '/api/videos/:task_id/favourite',
  summary: 'Mark a video as favourite',
  params: TaskParam,
  response: Done,
});

export const removeFavourite = endpoint({
  organization: 'member',
  ...favourites,
  method: 'DELETE',
  path: '/api/videos/:task_id/favourite',
  summary: 'Remove a video from the favourites',
  params: TaskParam,
  response: Done,
});

export const getStorage = endpoint({
  organization: 'member',
  method: 'GET',
  path: '/api/storage',
  summary: "Storage used by the account's videos",
  tag: 'video',
  policy: 'account',
  envelope: 'api',
  response: Ok(
    Type.Object({
      enabled: Type.Boolean({ description: 'Whether finished videos are copied here.' }),
      files: Type.Integer(),
      used_bytes: Type.Integer(),
      limit_bytes: Type.Integer({ description: 'Above it, the oldest copies are evicted.' }),
      days: Type.Integer({ description: 'Retention of a copy in days; 0: unlimited.' }),
    }),
  ),
});

/** Maximum length of a poster in Base64; enough for 256 KiB. */
const MAX_POSTER_TEXT = 350_000;

export const putPoster = endpoint({
  organization: 'member',
  method: 'PUT',
  path: '/api/videos/:task_id/thumbnail',
  summary: 'Give a finished video a poster; once, if it has none',
  tag: 'video',
  policy: 'account',
  envelope: 'api',
  params: Type.Object({ task_id: Type.String({ minLength: 1, maxLength: 200 }) }),
  bodyLimit: 512 * 1024,
  body: Type.Object({
    image: Type.String({
      minLength: 20,
      maxLength: MAX_POSTER_TEXT,
      pattern: '^[A-Za-z0-9+/]+={0,2}$',
      description: 'A JPEG or WebP image of at most 256 KiB in Base64.',
    }),
  }),
  response: Done,
});

/** Maximum number of collections per account, chosen so that one response holds them all. */
export const MAX_COLLECTIONS = 200;
/** Maximum number of videos one request adds or removes. */
export const MAX_COLLECTION_CHANGES = 100;

const collections = { organization: 'member', tag: 'video', policy: 'account', envelope: 'api' } as const;

/** A named group of own videos. */
export const Collection = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  videos: Type.Integer({ description: 'How many videos it has; deleted ones do not count.' }),
  contains: Type.Optional(
    Type.Boolean({ description: 'Whether the video of the query `task_id` is in it; absent without the query.' }),
  ),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
});
/** A named group of own videos. */
export type Collection = Static<typeof Collection>;

const Name = Type.Object({ name: Type.String({ minLength: 1, maxLength: 80, pattern: '\\S' }) });
const TaskIds = Type.Object({
  task_ids: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    minItems: 1,
    maxItems: MAX_COLLECTION_CHANGES,
  }),
});

export const listCollections = endpoint({
  ...collections,
  method: 'GET',
  path: '/api/collections',
  summary: 'Collections of the account by name; GET /api/videos?collection=ID has the videos of one',
  query: Type.Object({ task_id: Type.Optional(Type.String({ maxLength: 200 })) }),
  response: Ok(Type.Array(Collection)),
});

export const createCollection = endpoint({
  ...collections,
  method: 'POST',
  path: '/api/collections',
  summary: 'Create an empty collection; its name must be free',
  body: Name,
  response: Ok(Type.Object({ id: Type.Integer() })),
});

export const renameCollection = endpoint({
  ...collections,
  method: 'PUT',
  path: '/api/collections/:id',
  summary: 'Rename a collection',
  params: IdParam,
  body: Name,
  response: Done,
});

export const deleteCollection = endpoint({
  ...collections,
  method: 'DELETE',
  path: '/api/collections/:id',
  summary: 'Delete a collection; its videos stay',
  params: IdParam,
  response: Done,
});

export const addToCollection = endpoint({
  ...collections,
  method: 'POST',
  path: '/api/collections/:id/videos',
  summary: 'Add videos to a collection, all or none; those already in it stay',
  params: IdParam,
  body: TaskIds,
  response: Done,
});

export const removeFromCollection = endpoint({
  ...collections,
  method: 'POST',
  path: '/api/collections/:id/videos/remove',
  summary: 'Remove videos from a collection; they are not deleted',
  params: IdParam,
  body: TaskIds,
  response: Done,
});
