import { defineSimulator, fileResponse, jsonResponse, type Simulator } from './define-simulator.ts';
import { isMediaName, loadMedia } from './load-and-serve-media-files.ts';

/**
 * A content network as vendors use: public URLs, no credentials. Named per vendor so that faults can target it.
 * @param urlLifetimeMs how long a URL that says when it was issued is valid, in real time: a test that advances the clock would expire the
 * URL before it is fetched
 */
export const artifactHost = (vendor: string, urlLifetimeMs: number): Simulator =>
  defineSimulator({
    name: vendor,
    credentials: () => ({}),
    authorize: () => undefined,
    problem: (problem) => jsonResponse(problem === 'not_found' ? 404 : 503, { error: problem }),
    routes: [
      {
        method: 'GET',
        path: /^\/[^/]+\/(?<job>[^/]+)(?:\/(?<issued>\d+))?\/(?<name>[^/]+)$/,
        operation: 'content',
        handle({ params: { job = '', issued, name = '' } }, { fileOf }) {
          if (!isMediaName(name)) return jsonResponse(404, { error: 'not_found' });
          if (issued !== undefined && Date.now() - Number(issued) > urlLifetimeMs)
            return jsonResponse(403, { error: 'expired' });
          return fileResponse(fileOf(loadMedia(name), job));
        },
      },
    ],
  });
