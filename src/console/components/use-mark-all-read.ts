import { useMutation, useQueryClient } from '@tanstack/react-query';
import { markAllRead, NOTIFICATIONS_KEY } from '../data/notification-queries.ts';

export function useMarkAllRead() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: markAllRead,
    onSuccess: () => queries.invalidateQueries({ queryKey: NOTIFICATIONS_KEY }),
  });
}
