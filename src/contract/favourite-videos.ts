import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Done, Ok } from './success-bodies-and-pagination.ts';

/** Maximum number per account, so that all of them fit into one response. */
export const MAX_FAVOURITES = 1_000;

const favourites = { tag: 'video', policy: 'account', envelope: 'api' } as const;
const TaskParam = Type.Object({ task_id: Type.String({ minLength: 1, maxLength: 200 }) });

export const listFavourites = endpoint({
  ...favourites,
  method: 'GET',
  path: '/api/videos/favourites',
  summary: 'Task ids of the own favourites, newest video first; GET /api/videos?favourite=true has the videos',
  response: Ok(Type.Array(Type.String())),
});

export const addFavourite = endpoint({
  ...favourites,
  method: 'PUT',
  path: '/api/videos/:task_id/favourite',
  summary: 'Make an own video a favourite; one that is stays one',
  params: TaskParam,
  response: Done,
});

export const removeFavourite = endpoint({
  ...favourites,
  method: 'DELETE',
  path: '/api/videos/:task_id/favourite',
  summary: 'A video is no favourite any more; one that is not stays none',
  params: TaskParam,
  response: Done,
});
