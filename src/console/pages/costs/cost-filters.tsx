import { ApiKeyFilter, ChannelFilter, ModelFilter, UserFilter } from '../../components/list/filter-bar.tsx';
import type { ListFilters } from '../../components/list/use-list-filters.ts';
import type { RequestScope } from '../../data/requests.ts';

interface CostFiltersProps {
  readonly scope: RequestScope;
  readonly filters: ListFilters;
}

/** Filters costs by model, key, user or channel. */
export default function CostFilters({ scope, filters }: CostFiltersProps) {
  return (
    <>
      <ModelFilter filters={filters} />
      {scope === 'all' ? (
        <>
          <UserFilter filters={filters} />
          <ChannelFilter filters={filters} />
        </>
      ) : (
        <ApiKeyFilter filters={filters} />
      )}
    </>
  );
}
