// What the adapters share: tools are objects with a function `execute`.

/**
 * Guards the tools of a record. A denied call gets the reason as its result, so that the model reads it.
 * @template {Record<string, any>} Tools
 * @param {Tools} tools
 * @param {import("./session.js").Session} session
 * @returns {Tools}
 */
export function guardTools(tools, session) {
  const guarded = Object.entries(tools).map(([name, tool]) => {
    if (typeof tool.execute !== "function") return [name, tool];
    const execute = async (/** @type {unknown} */ input, /** @type {unknown[]} */ ...others) => {
      const verdict = await session.before(name, input);
      if (verdict.denied) return { error: verdict.reason };
      const result = await session.finish(verdict, () => tool.execute(input, ...others));
      return verdict.warns && typeof result === "string" ? `${result}\n\n${verdict.reason}` : result;
    };
    // The prototype of a tool may be a class of its framework.
    return [name, Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { execute })];
  });
  return Object.fromEntries(guarded);
}
