// What the proxy that loses replies is told, from wherever there is fetch.

/** What the proxy has seen since it was reset. */
export interface ProxyState {
  readonly calls?: Readonly<Record<string, number>>;
  readonly rules?: readonly unknown[];
}

/** A proxy that runs. */
export class ProxyControl {
  constructor(private readonly control: string) {}

  /** Adds a rule. */
  async add(rule: unknown): Promise<void> {
    await this.ask("POST", "/rules", rule);
  }

  /** Waits until a call is held. */
  async held(): Promise<void> {
    await this.ask("GET", "/held");
  }

  /** Lets held calls go on. */
  async release(): Promise<void> {
    await this.ask("POST", "/release");
  }

  async state(): Promise<ProxyState> {
    return (await this.ask("GET", "/state")) as ProxyState;
  }

  /** Forgets rules and counts. */
  async reset(): Promise<void> {
    await this.ask("POST", "/reset");
  }

  private async ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await fetch(this.control + path, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await reply.text();
    if (!reply.ok) {
      throw new Error(`the proxy refuses ${path}: ${text}`);
    }
    return text === "" ? undefined : JSON.parse(text);
  }
}
