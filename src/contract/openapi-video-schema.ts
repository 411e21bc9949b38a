import Type from 'typebox';

const UnixSeconds = Type.Union([Type.Number(), Type.Null()], { description: 'Unix seconds' });
/** Schema of a video object for the OpenAPI document only; responses are sent unchanged, because Sora's own object is passed through. */
export const DocumentedVideo = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('video'),
    model: Type.Optional(Type.String({ description: 'empty for Kling' })),
    status: Type.Optional(Type.Enum(['unknown', 'queued', 'in_progress', 'completed', 'failed', 'cancelled'])),
    progress: Type.Optional(Type.Union([Type.Number(), Type.Null()], { description: 'percent' })),
    created_at: Type.Optional(UnixSeconds),
    completed_at: Type.Optional(UnixSeconds),
    expires_at: Type.Optional(UnixSeconds),
    task_id: Type.Optional(Type.String()),
    prompt: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    seconds: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    size: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    metadata: Type.Optional(Type.Object({ url: Type.String({ description: 'empty before completion' }) })),
    error: Type.Optional(
      Type.Union([
        Type.Object({ message: Type.Optional(Type.String()), code: Type.Optional(Type.String()) }),
        Type.Null(),
      ]),
    ),
  },
  { description: 'An OpenAI video object; which keys exist varies by vendor.' },
);
/** For some jobs the response contains only the task id. */
export const DocumentedSubmit = Type.Union([DocumentedVideo, Type.Object({ task_id: Type.String() })]);
