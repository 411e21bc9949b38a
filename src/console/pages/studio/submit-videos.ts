import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { VideoInput } from '../../../contract/input-roles.ts';
import { ReelgateError } from '../../../sdk/errors.ts';
import { useToasts } from '../../components/toasts.tsx';
import { selfQuery } from '../../data/self.ts';
import { submitVideo, type VideoBody, videosQuery } from '../../data/videos.ts';
import { NEWEST_VIDEOS_COUNT } from '../../studio-start.ts';
import { addRecentModels } from './models.ts';

/**
 * Submits one request per video and shows the resulting videos. Idempotency keys are renewed after each click, so a
 * retried request starts no second video. A request refused by a vendor becomes a failed video: the list shows its
 * reason in our words, so the vendor's error is not shown in the form.
 */
export function useSubmitVideos(onShow: (taskIds: readonly string[]) => void) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const press = useRef(crypto.randomUUID());
  const mutation = useMutation({
    mutationFn: async (bodies: readonly VideoBody[]) => {
      const before = await queries.ensureQueryData(videosQuery(1, NEWEST_VIDEOS_COUNT));
      const known = new Set(before.data.map(({ task_id }) => task_id));
      const results = await Promise.allSettled(
        bodies.map((body, index) => submitVideo(body, index === 0 ? press.current : `${press.current}-${index}`)),
      );
      const started = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      const [error] = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
      const list = await queries.fetchQuery({ ...videosQuery(1, NEWEST_VIDEOS_COUNT), staleTime: 0 });
      const refused = list.data.filter(
        ({ task_id, status, model }) =>
          status === 'FAILURE' && !known.has(task_id) && bodies.some((body) => body.model === model),
      );
      if (started.length > 0) addRecentModels(bodies.map(({ model }) => model));
      // The video that was edited or extended lists its new version.
      const used = bodies.flatMap(({ inputs = [] }) => inputs as readonly VideoInput[]).map(({ file_id }) => file_id);
      for (const id of new Set(used)) void queries.invalidateQueries({ queryKey: ['videos', 'one', id] });
      const shown = [...started, ...refused.map(({ task_id }) => task_id)];
      if (shown.length > 0) onShow([...new Set(shown)]);
      if (error !== undefined && refused.length === 0) throw error;
      return started;
    },
    onSettled: async () => {
      press.current = crypto.randomUUID();
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
    onSuccess: (started) => {
      if (started.length > 0) toasts.success(t('started', { count: started.length }));
    },
  });
  const { error, reset } = mutation;
  const isUnreachable = error instanceof ReelgateError && error.code === 'network';
  // Any response proves that the service is back, so the error of the submit is no longer true.
  useEffect(() => {
    if (!isUnreachable) return undefined;
    return queries.getQueryCache().subscribe((event) => {
      if (event.type === 'updated' && event.action.type === 'success') reset();
    });
  }, [isUnreachable, queries, reset]);
  return mutation;
}
