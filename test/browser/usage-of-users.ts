/** A response of `GET /api/admin/usage` with this many accounts, each with its own cost today. */
export function usageOfUsers(count: number) {
  const day = new Date().toISOString().slice(0, 10);
  const figuresOf = (quota: number) => ({ requests: 3, quota, prompt_tokens: 500, completion_tokens: 70 });
  const rows = Array.from({ length: count }, (_, index) => ({
    day,
    user_id: index + 1,
    ...figuresOf(((index * 7_919) % count) + 1),
  }));
  return { success: true, message: '', data: { rows, total: figuresOf((count * (count + 1)) / 2) } };
}
