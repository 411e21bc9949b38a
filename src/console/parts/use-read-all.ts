import { useMutation, useQueryClient } from '@tanstack/react-query';
import { NOTIFICATIONS_KEY, readAll } from '../data/notifications.ts';

export function useReadAll() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: readAll,
    onSuccess: () => queries.invalidateQueries({ queryKey: NOTIFICATIONS_KEY }),
  });
}
