import Type from 'typebox';

const UnixSeconds = Type.Union([Type.Number(), Type.Null()], { description: 'Unix seconds' });
/** Schema of a video object for the OpenAPI document only; responses are sent unchanged, because Sora's own object is passed through. */
export const DocumentedVideo = Type.Object(
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
    metadata: Type.Optional(Type.Object({ url: Type.String({ description: 'empty before completion' }) })),
    error: Type.Optional(
      Type.Union([
        Type.Object({ message: Type.Optional(Type.String()), code: Type.Optional(Type.String()) }),
        Type.Null(),
      ]),
    ),
  },
  {
    description:
      "An OpenAI video object; which keys exist varies by vendor. OpenAI's own clients (X-Stainless-Lang) get OpenAI's complete object: all keys but task_id and metadata, null where unknown, completed_at null until the end, and 404 for a missing video.",
  },
);
/** For some jobs the response contains only the task id. */
export const DocumentedSubmit = Type.Union([DocumentedVideo, Type.Object({ task_id: Type.String() })]);
