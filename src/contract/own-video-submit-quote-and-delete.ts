import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Done, Ok } from './success-bodies-and-pagination.ts';
import { GenerationBody, PICTURE_FIELDS, VIDEO_JSON_LIMIT } from './video.ts';
import { Quote } from './video-quotes.ts';

/** A video request from the console; keys beyond the common ones are arguments of the model's media schema. */
export const ConsoleVideoBody = Type.Object(GenerationBody.properties, { additionalProperties: true });

const studio = { tag: 'video', policy: 'account', envelope: 'api' } as const;

export const submitOwnVideo = endpoint({
  ...studio,
  method: 'POST',
  path: '/api/videos',
  summary: 'Start a video as oneself, without an API token; Idempotency-Key as for the model API',
  bodyLimit: VIDEO_JSON_LIMIT,
  longTextFields: PICTURE_FIELDS,
  body: ConsoleVideoBody,
  response: Ok(Type.Object({ task_id: Type.String() })),
});

export const quoteVideo = endpoint({
  ...studio,
  method: 'POST',
  path: '/api/videos/quote',
  summary: 'What this video would cost and how many can be made; starts nothing. Refuses what a submit would refuse',
  bodyLimit: VIDEO_JSON_LIMIT,
  longTextFields: PICTURE_FIELDS,
  body: ConsoleVideoBody,
  response: Ok(Quote),
});

const Seconds = Type.Integer({ minimum: 0 });

export const listGenerationTimes = endpoint({
  ...studio,
  method: 'GET',
  path: '/api/video-durations',
  summary:
    'How long videos take from the request to the result, measured from the newest finished ones of all accounts',
  response: Ok(
    Type.Array(
      Type.Object({
        model: Type.String(),
        p50_seconds: Seconds,
        p90_seconds: Seconds,
        samples: Type.Integer({ minimum: 5, description: 'How many finished videos of the last 30 days it is from.' }),
      }),
      { description: 'Models with fewer than five finished videos are left out.' },
    ),
  ),
});

export const deleteOwnVideo = endpoint({
  ...studio,
  method: 'DELETE',
  path: '/api/videos/:task_id',
  summary: 'Take a finished video off the own list',
  params: Type.Object({ task_id: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: Done,
});
