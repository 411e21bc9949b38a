import { putPoster } from '../../contract/own-videos.ts';
import { callApi } from './api-client.ts';

const WIDTH = 640;
const QUALITY = 0.8;
const PREFIX = /^data:image\/(webp|jpeg);base64,/;
/** Videos whose poster this page has sent already, or could not make. */
const done = new Set<string>();

/** Sends the frame a video shows as its poster, once; failures are left to the next visit. */
export function uploadPoster(taskId: string, video: HTMLVideoElement): void {
  if (done.has(taskId) || video.videoWidth === 0) return;
  done.add(taskId);
  const canvas = document.createElement('canvas');
  canvas.width = Math.min(WIDTH, video.videoWidth);
  canvas.height = Math.round((canvas.width * video.videoHeight) / video.videoWidth);
  canvas.getContext('2d')?.drawImage(video, 0, 0, canvas.width, canvas.height);
  // Browsers that cannot write WebP write PNG instead.
  const webp = canvas.toDataURL('image/webp', QUALITY);
  const url = PREFIX.test(webp) ? webp : canvas.toDataURL('image/jpeg', QUALITY);
  callApi(putPoster, { params: { task_id: taskId }, body: { image: url.replace(PREFIX, '') } }).catch(() => {});
}
