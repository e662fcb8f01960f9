// The Worker: it is told where things are, checks, and tells.

import { check, type Where } from "./checks.js";

export default {
  async fetch(request: Request): Promise<Response> {
    return Response.json(await check((await request.json()) as Where));
  },
};
