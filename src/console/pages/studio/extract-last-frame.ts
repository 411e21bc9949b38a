import type { QueryClient } from '@tanstack/react-query';
import { videoQuery } from '../../data/video-queries.ts';
import type { ImageInput } from './draft-type-and-fit-to-model.ts';

const QUALITY = 0.92;
/** Before the end, where every browser still shows a frame. */
const END_MARGIN_SECONDS = 0.04;

/**
 * The last frame of a finished video as a picture, read in the browser.
 *
 * @throws Error where the file cannot be played
 */
export async function extractLastFrame(queries: QueryClient, taskId: string): Promise<ImageInput> {
  const { play_url } = await queries.fetchQuery(videoQuery(taskId));
  const video = document.createElement('video');
  video.muted = true;
  video.preload = 'auto';
  await once(video, 'loadedmetadata', () => {
    video.src = play_url;
  });
  await once(video, 'seeked', () => {
    video.currentTime = Math.max(0, video.duration - END_MARGIN_SECONDS);
  });
  const canvas = document.createElement('canvas');
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext('2d')?.drawImage(video, 0, 0);
  video.removeAttribute('src');
  return { src: canvas.toDataURL('image/jpeg', QUALITY), name: `${taskId}.jpg` };
}

/** Waits for an event of a video that an action causes. */
function once(video: HTMLVideoElement, event: string, act: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    video.addEventListener(event, () => resolve(), { once: true });
    video.addEventListener('error', () => reject(new Error(video.error?.message ?? '')), { once: true });
    act();
  });
}
