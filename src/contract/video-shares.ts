import Type from 'typebox';
import { PLAIN_TEXT_PATTERN, Time, TimeOrNull } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done, IdParam, ListOf, Ok, PageQuery } from './responses.ts';
import { FILE_RESPONSE, TaskParam } from './video.ts';

/** Maximum number of links per video, and per account below. */
export const MAX_SHARES_PER_VIDEO = 20;
export const MAX_SHARES = 1_000;
/** Maximum length of a link's password, in characters. */
export const SHARE_PASSWORD_MAX = 128;
const YEAR_SECONDS = 365 * 86_400;

const share = { tag: 'video', policy: 'account', envelope: 'api' } as const;

const Url = Type.String({ description: 'the page with the player' });
const ExpiresAt = { ...TimeOrNull, description: 'Unix seconds; null: with the video only' };
const Share = Type.Object({
  id: Type.Integer(),
  task_id: Type.String(),
  prompt: Type.String({ description: 'of the video' }),
  url: Url,
  title: Type.String({ description: 'empty: the page shows none' }),
  has_password: Type.Boolean(),
  created_by: Type.String({ description: 'the member who created it for an organization; empty: the account itself' }),
  created_time: Time,
  expires_at: ExpiresAt,
});

export const createShare = endpoint({
  organization: 'member',
  ...share,
  method: 'POST',
  path: '/api/videos/:task_id/shares',
  summary: 'Create a link to a page on which anyone with the link can watch a finished video',
  params: TaskParam,
  optionalBody: true,
  body: Type.Object({
    expires_in_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: YEAR_SECONDS, description: 'default: the link ends with the video' }),
    ),
    password: Type.Optional(
      Type.String({ minLength: 1, maxLength: SHARE_PASSWORD_MAX, description: 'asked for before the video is shown' }),
    ),
    title: Type.Optional(
      Type.String({ maxLength: 200, pattern: PLAIN_TEXT_PATTERN, description: 'shown on the page; default: none' }),
    ),
  }),
  response: Ok(Type.Object({ id: Type.Integer(), url: Url, expires_at: ExpiresAt })),
});

export const listVideoShares = endpoint({
  organization: 'member',
  ...share,
  method: 'GET',
  path: '/api/videos/:task_id/shares',
  summary: 'Active links of a video, newest first',
  params: TaskParam,
  response: Ok(Type.Array(Share)),
});

export const deleteShare = endpoint({
  organization: 'member',
  ...share,
  method: 'DELETE',
  path: '/api/videos/:task_id/shares/:id',
  summary: 'End a link at once, including playback in progress',
  params: Type.Object({ ...TaskParam.properties, ...IdParam.properties }),
  response: Done,
});

export const listShares = endpoint({
  organization: 'member',
  ...share,
  method: 'GET',
  path: '/api/shares',
  summary: 'Active links of all videos of the account, newest first',
  query: Type.Object(PageQuery),
  response: ListOf(Share),
});

const TokenParam = Type.Object({ token: Type.String({ pattern: '^[A-Za-z0-9]{1,64}$' }) });
const Lang = Type.Optional(Type.String({ maxLength: 16 }));
const page = { tag: 'video', policy: 'self', envelope: 'page', params: TokenParam } as const;
const file = { ...page, ...FILE_RESPONSE, method: 'GET' } as const;

export const sharePage = endpoint({
  ...page,
  method: 'GET',
  path: '/s/:token',
  summary: 'The page of a share link; asks for the password if the link has one',
  responseTypes: ['text/html'],
  query: Type.Object({ lang: Lang }),
});

export const unlockShare = endpoint({
  ...page,
  method: 'POST',
  path: '/s/:token',
  summary: 'Form of the page: the password of the link',
  responseStatuses: [303],
  accepts: 'form',
  bodyLimit: 4 * 1024,
  body: Type.Object({ password: Type.String({ maxLength: SHARE_PASSWORD_MAX }), lang: Lang }),
});

export const shareVideo = endpoint({
  ...file,
  path: '/s/:token/video',
  summary: 'The video of a share link',
});

export const sharePoster = endpoint({
  ...file,
  path: '/s/:token/poster',
  summary: 'The poster of the video of a share link',
});
