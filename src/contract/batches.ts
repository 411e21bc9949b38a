import Type, { type Static } from 'typebox';
import { BATCH_ENDPOINTS } from './batch-endpoints.ts';
import { endpoint } from './endpoint.ts';
import { Ok } from './responses.ts';

/** States of a batch, as in OpenAI's Batch API. */
export const BATCH_STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** Limits of a batch. */
export const BATCH_LIMITS = {
  lines: 50_000,
  lineMb: 10,
  customIdLength: 200,
  metadataKeys: 16,
  metadataKeyLength: 64,
  metadataValueLength: 512,
  windowHours: { least: 1, most: 168 },
  /** Rows and megabytes of a sheet that the console or `POST /api/batches/csv` receives. */
  sheetRows: 10_000,
  sheetMb: 10,
} as const;

/** `User-Agent` of the requests of batches, whose ends are not notified one by one. */
export const BATCH_CLIENT = 'reelgate-batch';

/** Days that the files and lines of an ended batch are kept. */
export const BATCH_KEPT_DAYS = 7;

const Nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) => Type.Union([schema, Type.Null()]);
const Time = Nullable(Type.Integer({ description: 'Unix seconds.' }));

/** A batch of OpenAI's Batch API, with its budget. */
export const Batch = Type.Object({
  id: Type.String(),
  object: Type.Literal('batch'),
  endpoint: Type.Enum([...BATCH_ENDPOINTS]),
  model: Nullable(Type.String({ description: 'The model of the first line.' })),
  errors: Nullable(
    Type.Object({
      object: Type.Literal('list'),
      data: Type.Array(
        Type.Object({
          code: Type.String(),
          line: Nullable(Type.Integer({ description: 'From 1.' })),
          message: Type.String(),
          param: Nullable(Type.String()),
        }),
      ),
    }),
  ),
  input_file_id: Type.String(),
  completion_window: Type.String(),
  status: Type.Enum([...BATCH_STATUSES]),
  output_file_id: Nullable(Type.String({ description: 'The file of the successful lines.' })),
  error_file_id: Nullable(Type.String({ description: 'The file of all other lines.' })),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  in_progress_at: Time,
  expires_at: Time,
  finalizing_at: Time,
  completed_at: Time,
  failed_at: Time,
  expired_at: Time,
  cancelling_at: Time,
  cancelled_at: Time,
  request_counts: Type.Object({ total: Type.Integer(), completed: Type.Integer(), failed: Type.Integer() }),
  usage: Nullable(
    Type.Object({
      input_tokens: Type.Integer(),
      input_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
      output_tokens: Type.Integer(),
      output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
      total_tokens: Type.Integer(),
    }),
  ),
  metadata: Nullable(Type.Record(Type.String(), Type.String())),
  budget: Nullable(Type.Integer({ description: 'Most quota that the lines may cost together; null: no limit.' })),
  spent: Type.Integer({ description: 'Quota of the ended lines and reservations of the running ones.' }),
  paused_at: Time,
  retry_of: Nullable(Type.String({ description: 'The batch whose failed lines this one repeats.' })),
  submitted_by: Type.Optional(Type.String({ description: 'The member who created it for an organization.' })),
});
export type Batch = Static<typeof Batch>;

/** Batches in OpenAI's format of lists. */
export const BatchList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Batch),
  first_id: Nullable(Type.String()),
  last_id: Nullable(Type.String()),
  has_more: Type.Boolean(),
});

const BatchParam = Type.Object({ batch_id: Type.String({ minLength: 1, maxLength: 200 }) });

const BatchQuery = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 200 })),
  limit: Type.Optional(Type.String({ maxLength: 10, description: 'From 1 to 100; default 20.' })),
});

const Budget = Nullable(
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Quota. Stops new lines, not running ones.',
  }),
);
const Metadata = Nullable(Type.Record(Type.String(), Type.String()));
const Window = Type.String({ maxLength: 10, description: 'From 1h to 168h, or 1d to 7d; default 24h.' });

/** The request that creates a batch. */
export const NewBatch = Type.Object({
  input_file_id: Type.String({ minLength: 1, maxLength: 200 }),
  endpoint: Type.String({ maxLength: 100, description: BATCH_ENDPOINTS.join(', ') }),
  completion_window: Type.Optional(Window),
  metadata: Type.Optional(Metadata),
  budget: Type.Optional(Budget),
  output_expires_after: Type.Optional(
    Type.Object({
      anchor: Type.Literal('created_at'),
      seconds: Type.Integer({ minimum: 3_600, maximum: 2_592_000 }),
    }),
  ),
});
export type NewBatch = Static<typeof NewBatch>;

const ofKey = { tag: 'batches', policy: 'model', envelope: 'model' } as const;

export const createBatch = endpoint({
  ...ofKey,
  method: 'POST',
  path: '/v1/batches',
  summary: 'Start a batch (OpenAI format): every line of a file is one request',
  body: NewBatch,
  response: Batch,
});
export const listBatches = endpoint({
  ...ofKey,
  method: 'GET',
  path: '/v1/batches',
  summary: 'List the batches of the account, newest first',
  query: BatchQuery,
  response: BatchList,
});
export const getBatch = endpoint({
  ...ofKey,
  method: 'GET',
  path: '/v1/batches/:batch_id',
  summary: 'Get a batch',
  params: BatchParam,
  response: Batch,
});
export const cancelBatch = endpoint({
  ...ofKey,
  method: 'POST',
  path: '/v1/batches/:batch_id/cancel',
  summary: 'Cancel a batch: no new line starts, waiting videos are refunded, running ones finish',
  params: BatchParam,
  optionalBody: true,
  body: Type.Object({}),
  response: Batch,
});
const changed = { ...ofKey, method: 'POST', params: BatchParam, optionalBody: true, body: Type.Object({}) } as const;
export const pauseBatch = endpoint({
  ...changed,
  path: '/v1/batches/:batch_id/pause',
  summary: 'Start no new line of a batch until it is resumed',
  response: Batch,
});
export const resumeBatch = endpoint({
  ...changed,
  path: '/v1/batches/:batch_id/resume',
  summary: 'Resume a paused batch',
  response: Batch,
});
export const retryBatch = endpoint({
  ...changed,
  path: '/v1/batches/:batch_id/retry',
  summary: 'Repeat the failed lines of an ended batch as a new batch',
  response: Batch,
});

const ofAccount = { tag: 'batches', policy: 'account', organization: 'member', envelope: 'api' } as const;

export const listOwnBatches = endpoint({
  ...ofAccount,
  method: 'GET',
  path: '/api/batches',
  summary: 'Batches of the account, newest first',
  query: BatchQuery,
  response: Ok(BatchList),
});
export const createOwnBatch = endpoint({
  ...ofAccount,
  method: 'POST',
  path: '/api/batches',
  summary: 'Start a batch by the account itself, without an API key',
  body: NewBatch,
  response: Ok(Batch),
  spends: true,
});
export const getOwnBatch = endpoint({
  ...ofAccount,
  method: 'GET',
  path: '/api/batches/:batch_id',
  summary: 'One batch of the account',
  params: BatchParam,
  response: Ok(Batch),
});
const ownChanged = {
  ...ofAccount,
  method: 'POST',
  params: BatchParam,
  optionalBody: true,
  body: Type.Object({}),
} as const;
export const cancelOwnBatch = endpoint({
  ...ownChanged,
  path: '/api/batches/:batch_id/cancel',
  summary: 'Cancel a batch of the account',
  response: Ok(Batch),
});
export const pauseOwnBatch = endpoint({
  ...ownChanged,
  path: '/api/batches/:batch_id/pause',
  summary: 'Pause a batch of the account',
  response: Ok(Batch),
});
export const resumeOwnBatch = endpoint({
  ...ownChanged,
  path: '/api/batches/:batch_id/resume',
  summary: 'Resume a batch of the account',
  response: Ok(Batch),
  spends: true,
});
export const retryOwnBatch = endpoint({
  ...ownChanged,
  path: '/api/batches/:batch_id/retry',
  summary: "Repeat the failed lines of the account's batch as a new batch",
  response: Ok(Batch),
  spends: true,
});

/** Columns of a sheet of videos; `metadata.` and a name is a column too. */
export const SHEET_COLUMNS = [
  'custom_id',
  'prompt',
  'model',
  'seconds',
  'size',
  'mode',
  'first_frame',
  'last_frame',
  'reference',
  'video',
  'audio',
  'callback_url',
] as const;

/** A sheet of videos, one row each. */
export const NewSheet = Type.Object({
  csv: Type.String({ maxLength: BATCH_LIMITS.sheetMb * 1024 ** 2, description: SHEET_COLUMNS.join(', ') }),
  start: Type.Optional(Type.Boolean({ description: 'Default false: the rows are only checked and priced.' })),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Of rows that name none.' })),
  completion_window: Type.Optional(Window),
  metadata: Type.Optional(Metadata),
  budget: Type.Optional(Budget),
});
export type NewSheet = Static<typeof NewSheet>;

const SheetRow = Type.Object({
  line: Type.Integer({ description: 'Line of the text in which the row begins, from 1.' }),
  custom_id: Type.String(),
  cells: Type.Array(Type.String(), { description: 'In the order of `columns`.' }),
  quota: Nullable(Type.Integer({ description: 'What it would reserve; null for a row with errors.' })),
  errors: Type.Array(
    Type.Object({
      column: Nullable(Type.String({ description: 'null: the row as a whole.' })),
      message: Type.String(),
    }),
  ),
  dropped: Type.Array(Type.String(), { description: 'Columns that this model does not take.' }),
});
export type SheetRow = Static<typeof SheetRow>;

/** A checked sheet with its quote, and its batch once it is started. */
export const Sheet = Type.Object({
  columns: Type.Array(Type.String()),
  rows: Type.Array(SheetRow),
  valid: Type.Integer(),
  invalid: Type.Integer(),
  quota: Type.Integer({ description: 'Of all valid rows together.' }),
  balance: Type.Integer({ description: 'The balance.' }),
  batch: Nullable(Batch),
});
export type Sheet = Static<typeof Sheet>;

export const createSheetBatch = endpoint({
  ...ofAccount,
  method: 'POST',
  path: '/api/batches/csv',
  summary: 'Check and price a sheet of videos; `start: true` starts it as a batch if every row is valid',
  bodyLimit: (BATCH_LIMITS.sheetMb + 2) * 1024 ** 2,
  body: NewSheet,
  response: Ok(Sheet),
  spends: true,
});

/** A line of an own batch, for the console. */
export const BatchLine = Type.Object({
  line: Type.Integer(),
  custom_id: Type.String(),
  state: Type.Enum(['pending', 'sending', 'running', 'completed', 'failed']),
  quota: Type.Integer({ description: 'Charged, or reserved while it runs.' }),
  video_id: Nullable(Type.String()),
  error: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
});
export type BatchLine = Static<typeof BatchLine>;

export const listOwnBatchLines = endpoint({
  ...ofAccount,
  method: 'GET',
  path: '/api/batches/:batch_id/lines',
  summary: 'Lines of a batch in order; kept for 7 days after its end',
  params: BatchParam,
  query: Type.Object({
    after: Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$', description: '`next` of the page before.' })),
    state: Type.Optional(Type.Enum(['pending', 'running', 'completed', 'failed'])),
  }),
  response: Ok(Type.Object({ lines: Type.Array(BatchLine), next: Nullable(Type.String()) })),
});
export const exportOwnBatch = endpoint({
  ...ofAccount,
  method: 'GET',
  path: '/api/batches/:batch_id/results.csv',
  summary: 'Results of a batch as CSV, without live formulas',
  params: BatchParam,
  responseTypes: ['text/csv', 'application/json'],
});
