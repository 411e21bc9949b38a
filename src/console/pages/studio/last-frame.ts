import type { QueryClient } from '@tanstack/react-query';
import { videoQuery } from '../../data/videos.ts';

const QUALITY = 0.92;
/** Offset from the end at which every browser still shows a frame. */
const END_MARGIN_SECONDS = 0.04;

/**
 * Captures the last frame of a finished video as an image, in the browser.
 *
 * @throws Error if the file cannot be played
 */
export async function extractLastFrame(queries: QueryClient, taskId: string): Promise<File> {
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
  const frame = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/jpeg', QUALITY));
  if (frame === null) throw new Error('');
  return new File([frame], `${taskId}.jpg`, { type: 'image/jpeg' });
}

/** Resolves with the video event that `act` triggers; rejects on an error event. */
function once(video: HTMLVideoElement, event: string, act: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    video.addEventListener(event, () => resolve(), { once: true });
    video.addEventListener('error', () => reject(new Error(video.error?.message ?? '')), { once: true });
    act();
  });
}
