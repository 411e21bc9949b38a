import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useToasts } from '../../components/toasts.tsx';
import { selfQuery } from '../../data/signed-in-user-and-site-queries.ts';
import { submitVideo, type VideoBody, videosQuery } from '../../data/video-queries.ts';
import { addRecentModels } from './favourite-and-recent-models.ts';
import { NEWEST_VIDEOS_COUNT } from './newest-videos-count.ts';

/**
 * Starts a video for each request and names those that came of it. A press starts each once even if its request has to be sent again:
 * the keys are renewed after each press. A request that a vendor refused is a video that failed: the list has its reason in our words,
 * so the vendor's are not shown as the error of the form.
 */
export function useSubmitVideos(onShow: (taskIds: readonly string[]) => void) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const press = useRef(crypto.randomUUID());
  return useMutation({
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
}
